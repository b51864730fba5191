import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { DriverError } from '../../src/contract/errors.js';
import type { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();
const program = await readFile(new URL('../fixtures/open-resources.py', import.meta.url), 'utf8');

/** The programs with which no sandbox can be stored, and the message to its user. Everything else that a program may have open continues. */
const REFUSED: Record<string, RegExp> = {
  'inotify-deleted': /"python3" \(process \d+\) watches \(inotify\) a file that was deleted/,
  'inotify-rotated': /"python3" \(process \d+\) watches \(inotify\) a file that was deleted/,
  'inotify-dev': /"python3" \(process \d+\) watches a file that cannot be stored/,
  'inotify-directory-gone': /"python3" \(process \d+\) watches \(inotify\) a file that was deleted/,
  'inotify-proc': /"python3" \(process \d+\) watches a file that cannot be stored/,
  'message-queue': /"python3" \(process \d+\) holds a file open that is in none of its file systems/,
  multicast: /a program has joined the multicast group 239\.1\.2\.3/,
  'multicast-loopback': /a program has joined the multicast group 224\.0\.0\.251/,
  'multicast-v6': /a program has joined the multicast group ff02:.*:00fb/,
  'pipe-packets': /"python3" \(process \d+\) uses something that a checkpoint cannot hold/,
  traced: /"python3" \(process \d+\) traces "python3" \(process \d+\)/,
  'unix-directory-renamed': /"python3" \(process \d+\) has a Unix socket whose file was renamed or linked/,
  'unix-linked': /"python3" \(process \d+\) has a Unix socket whose file was renamed or linked/,
  'unix-renamed': /"python3" \(process \d+\) has a Unix socket whose file was renamed or linked/,
};
/** The calls that the filter and the capabilities of a sandbox refuse. */
const NOT_GIVEN: Record<string, string> = {
  'multipath-tcp': 'Protocol not supported',
  packet: 'Address family not supported by protocol',
  raw: 'Operation not permitted',
  'raw-v6': 'Operation not permitted',
};

/** Puts the program into a sandbox. Gives what it can hold. */
async function putInto(client: DaemonClient): Promise<string[]> {
  await client.output(`cat > /tmp/held.py <<'END'\n${program}\nEND`);
  return (await client.output('python3 /tmp/held.py names')).split('\n');
}

/** Has a program hold a thing; gives the first line that it prints, and its process. */
async function hold(client: DaemonClient, name: string) {
  const running = await client.start(`exec python3 /tmp/held.py ${name} 2>&1`);
  const said = await eventually(`${name} to be held`, () => running.stdout().trim());
  running.result.catch(() => undefined);
  running.leave();
  return { said, pid: running.pid };
}

async function use(client: DaemonClient, name: string): Promise<string> {
  await client.output(`rm -f /tmp/${name}.told; echo > /tmp/${name}.ask`);
  return eventually(`${name} to be used`, () => client.output(`cat /tmp/${name}.told`));
}

describe.skipIf(skip !== undefined)('a program that holds something of the kernel', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  it('continues after a pause, with its resource as before', async () => {
    const { instance, client } = await bench.create();
    const names = (await putInto(client)).filter((name) => !(name in REFUSED || name in NOT_GIVEN));
    expect(names.length).toBeGreaterThan(50);
    for (const name of names) expect([name, (await hold(client, name)).said]).toEqual([name, 'held']);
    const well = names.map((name) => [name, 'well']);
    const answers = async (there: DaemonClient) => {
      const all: [string, string][] = [];
      for (const name of names) all.push([name, await use(there, name)]);
      return all;
    };
    expect(await answers(client)).toEqual(well);
    await instance.checkpoint({ checkpointId: 'all', memory: true, then: 'destroy' });
    const resumed = await bench.restore('all', true);
    expect(await answers(resumed.client)).toEqual(well);
  });

  it('runs on where the thing cannot be stored, and is named', async () => {
    const { instance, client } = await bench.create();
    await putInto(client);
    for (const [name, reason] of Object.entries(REFUSED)) {
      const { said, pid } = await hold(client, name);
      expect([name, said]).toEqual([name, 'held']);
      const refused = await instance
        .checkpoint({ checkpointId: name, memory: true, then: 'destroy' })
        .catch((error: unknown) => error);
      expect([name, DriverError.is(refused) && refused.code]).toEqual([name, 'undumpable']);
      expect((refused as DriverError).message).toMatch(reason);
      expect([name, await use(client, name)]).toEqual([name, 'well']);
      await client.output(`kill -9 ${pid} $(cat /proc/${pid}/task/${pid}/children)`);
    }
    expect(await bench.driver.listCheckpoints()).toEqual([]);
  });

  it('is not given at all what no checkpoint can hold', async () => {
    const { client } = await bench.create();
    await putInto(client);
    for (const [name, reason] of Object.entries(NOT_GIVEN))
      expect([name, (await hold(client, name)).said]).toEqual([name, `refused: ${reason}`]);
  });
});

describe.skipIf(skip !== undefined)('a sandbox that is stored while it runs on', () => {
  const bench = linuxBench({ storeSizeMiB: 4096 });

  it('keeps the sockets and files that it has in a volume', async () => {
    await bench.driver.volumes.make('shared');
    const { instance, client } = await bench.create({ mounts: [{ target: '/data', volumeId: 'shared' }] });
    await putInto(client);
    await client.output('mkdir /data/tmp');
    await client.output(`sed -i 's|^PLACE = .*|PLACE = f"/data/tmp/{NAME}"|' /tmp/held.py`);
    const names = ['unix', 'unix-datagram', 'inotify', 'flock', 'fifo'];
    for (const name of names) expect([name, (await hold(client, name)).said]).toEqual([name, 'held']);
    const before = await client.output('cd /data/tmp && ls -iA');
    await instance.checkpoint({ checkpointId: 'volume', memory: true, then: 'continue' });
    expect(await client.output('cd /data/tmp && ls -iA')).toBe(before);
    for (const name of names) expect([name, await use(client, name)]).toEqual([name, 'well']);
  });
});
