import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();

describe.skipIf(skip !== undefined)('a sandbox that was paused', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });
  const addressOf = (text: string) => text.trim().split(/\s+/);

  it('has its address again while nobody else has it, and answers where its servers are bound', async () => {
    const { instance, client } = await bench.create();
    const [address] = addressOf(await client.output('hostname -I'));
    const running = await client.start(
      `exec perl -MIO::Socket::INET -e '$| = 1; $s = IO::Socket::INET->new(LocalAddr => "${address}", LocalPort => 7000, Listen => 4) or die; print "up"; while ($c = $s->accept) { print $c "served\\n"; close $c }'`,
    );
    await eventually('the server', () => running.stdout() === 'up');
    running.result.catch(() => undefined);
    running.leave();
    await instance.checkpoint({ checkpointId: 'paused', memory: true, then: 'destroy' });
    // Clean-up that nobody waits for gives the address back.
    await bench.driver.reap({ instanceIds: [], checkpointIds: ['paused'] });
    const resumed = await bench.restore('paused', true);
    expect(addressOf(await resumed.client.output('hostname -I'))).toEqual([address]);
    const socket = await resumed.instance.dial(7000);
    expect(String((await socket.iterator().next()).value)).toBe('served\n');
    socket.destroy();

    await resumed.instance.checkpoint({ checkpointId: 'again', memory: true, then: 'continue' });
    const copy = await bench.restore('again', true);
    const [other, ...more] = addressOf(await copy.client.output('hostname -I'));
    expect(other).not.toBe(address);
    expect(more).toEqual([]);
  });
});
