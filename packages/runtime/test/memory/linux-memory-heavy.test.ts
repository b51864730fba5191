import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { DaemonClient } from '../../src/testing/daemon-client.js';
import { PROGRAMS, startProgram, step } from '../support/counting-programs.js';
import { countOnHost } from '../support/host-counts.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip =
  process.env.SVC_HEAVY === '1' ? memorySkipReason() : 'They take minutes and gigabytes; set SVC_HEAVY=1.';
if (skip !== undefined) console.warn(`Heavy tests of memory are skipped. ${skip}`);

describe.skipIf(skip !== undefined)('memory of linux instances, at length', () => {
  const bench = linuxBench({ storeSizeMiB: 16_384 });

  async function start(names: (name: string) => boolean) {
    const made = await bench.create();
    const programs = PROGRAMS.filter(({ name }) => names(name));
    for (const program of programs) {
      await startProgram(made.client, program);
      expect(await step(made.client, program), program.title).toBe('1');
    }
    return { ...made, programs };
  }

  /** A program with `mib` MiB that no compression makes small. */
  async function hold(client: DaemonClient, mib: number): Promise<void> {
    if (mib === 0) return;
    await client.start(
      `exec python3 -c 'import os, time; b = [os.urandom(1 << 20) for _ in range(${mib})]; open("/tmp/held", "w").write("1"); time.sleep(10000)'`,
    );
    await eventually(
      'the memory to be filled',
      async () => (await client.run('test -s /tmp/held')).exitCode === 0,
    );
  }

  it('stores and restores by size of memory', async () => {
    for (const mib of [0, 100, 400]) {
      const { instance, client } = await bench.create();
      await client.output('true');
      await hold(client, mib);
      const made = await instance.checkpoint({ checkpointId: `size-${mib}`, memory: true, then: 'continue' });
      const since = performance.now();
      const copy = await bench.restore(`size-${mib}`, true);
      const restoreMs = Math.round(performance.now() - since);
      const before = performance.now();
      await copy.instance.checkpoint({ checkpointId: `pause-${mib}`, memory: true, then: 'destroy' });
      const pauseMs = Math.round(performance.now() - before);
      console.log(
        `memory +${mib} MiB: source frozen for ${made.frozenMs} ms, restore ${restoreMs} ms, pause to disk ${pauseMs} ms, ${(made.sizeBytes / 2 ** 20).toFixed(1)} MiB on disk`,
      );
      expect(made.sizeBytes).toBeGreaterThan(mib * 2 ** 20);
      await instance.destroy();
      await bench.sweep();
    }
  }, 300_000);

  it('leaves nothing behind after 50 forks and 50 rounds of pause and resume', async () => {
    // The driver's own cgroups appear with its first instance and stay until it closes.
    await (await bench.create()).instance.destroy();
    const before = await eventually('the clean-up of the first instance', async () => {
      const now = await countOnHost(bench.dataDir);
      return now.records === 0 ? now : undefined;
    });
    expect(before.loopDevices).toBe(1);
    let { instance, client } = await start((name) => name === 'shell');
    const counting = PROGRAMS.find(({ name }) => name === 'shell')!;
    for (let round = 0; round < 50; round += 1) {
      const id = `round-${round}`;
      await instance.checkpoint({ checkpointId: id, memory: true, then: 'continue' });
      const fork = await bench.restore(id, true);
      await fork.instance.destroy();
      await instance.checkpoint({ checkpointId: `${id}-paused`, memory: true, then: 'destroy' });
      ({ instance, client } = await bench.restore(`${id}-paused`, true));
      await bench.driver.deleteCheckpoint(id);
      await bench.driver.deleteCheckpoint(`${id}-paused`);
    }
    expect(await step(client, counting)).toBe('2');
    await instance.destroy();
    await eventually('the clean-up', async () => {
      const now = await countOnHost(bench.dataDir);
      return JSON.stringify(now) === JSON.stringify(before);
    });
    console.log('before and after 50 rounds:', before, await countOnHost(bench.dataDir));
    expect(await bench.driver.reap({ instanceIds: [], checkpointIds: [] })).toEqual([]);
    await bench.driver.close({ destroyInstances: true });
    const gone = await countOnHost(bench.dataDir);
    expect(Object.values(gone)).toEqual(Object.values(gone).map(() => 0));
    await bench.open();
  }, 600_000);
});
