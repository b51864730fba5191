import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { shareTexts } from '../../src/linux-driver/rootfs/share-texts.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { linuxBench } from '../support/linux-bench.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();

const HOST = {
  cpuinfo: [0, 1, 2, 3].map((number) => `processor\t: ${number}\nmodel name\t: test\n\n`).join(''),
  stat: 'cpu  1 2 3\nbtime 1234\n',
  meminfo: 'MemTotal:       1000000 kB\n',
};
const IDLE = { cpuUsageUs: 0, memoryBytes: 0, memoryCacheBytes: 0, pids: 1 };
const BUSY = { cpuUsageUs: 9e12, memoryBytes: 300 * 2 ** 20, memoryCacheBytes: 100 * 2 ** 20, pids: 2048 };

describe('the share of the machine that an instance sees', () => {
  it('is its limits, a part of a processor counting as one', () => {
    const tell = (limits: object) => shareTexts({ limits, usage: IDLE, load: [0, 0, 0], upMs: 0 }, HOST);
    expect(tell({ cpuCount: 0.5 }).cpuinfo.match(/^processor/gm)).toHaveLength(1);
    expect(tell({ cpuCount: 2 }).online).toBe('0-1\n');
    expect(tell({ cpuCount: 2 }).stat.match(/^cpu\d/gm)).toHaveLength(2);
    expect(tell({ cpuCount: 64 }).online).toBe('0-3\n');
    expect(tell({}).cpuinfo.match(/^processor/gm)).toHaveLength(4);
    expect(tell({ memoryMiB: 512 }).meminfo).toMatch(/^MemTotal: +524288 kB$/m);
    expect(tell({}).meminfo).toMatch(/^MemTotal: +1000000 kB$/m);
  });

  it('shows its use, always in as many bytes', () => {
    const limits = { cpuCount: 2, memoryMiB: 512 };
    const idle = shareTexts({ limits, usage: IDLE, load: [0, 0, 0], upMs: 0 }, HOST);
    const busy = shareTexts({ limits, usage: BUSY, load: [12.345, 1, 0.5], upMs: 1e10 }, HOST);
    for (const file of ['meminfo', 'stat', 'loadavg'] as const)
      expect(busy[file]).toHaveLength(idle[file].length);
    expect(busy.meminfo).toMatch(/^MemFree: +217088 kB\nMemAvailable: +319488 kB$/m);
    expect(busy.loadavg).toMatch(/^012\.35 001\.00 000\.50 /);
    expect(busy.stat).toMatch(/^btime 1234$/m);
  });
});

describe.skipIf(skip !== undefined)('an instance with half a processor and 256 MiB', () => {
  const bench = linuxBench();
  const limits = { cpuCount: 0.5, memoryMiB: 256 };
  const PROGRAMS = [
    'free -m | sed -n "s/^Mem: *\\([0-9]*\\) .*/\\1/p"',
    `python3 -c 'import os; print(os.cpu_count(), os.sysconf("SC_NPROCESSORS_ONLN"))'`,
    'grep -c ^processor /proc/cpuinfo',
    'wc -w </proc/loadavg',
  ].join('; ');

  it('sees these and not those of the machine, and sees what it uses', async () => {
    const { client } = await bench.create({ limits });
    expect(await client.output(PROGRAMS)).toBe('256\n1 1\n1\n5');
    const used = async () =>
      Number(await client.output(`free -m | sed -n 's/^Mem: *[0-9]* *\\([0-9]*\\) .*/\\1/p'`));
    const running = await client.start(`python3 -c 'import time; b = b"x" * (100 << 20); time.sleep(60)'`);
    await eventually('the memory that it took', async () => ((await used()) >= 100 ? true : undefined));
    running.leave();
    // No program inside can say something else there.
    expect(
      (await client.run('echo 1 >/proc/meminfo; mount -o remount,rw /proc/meminfo', 'root')).exitCode,
    ).not.toBe(0);
  });

  it.skipIf(memorySkipReason() !== undefined)(
    'sees them in a copy with its memory too, on other files',
    async () => {
      const { instance } = await bench.create({ limits });
      await instance.checkpoint({ checkpointId: 'share', memory: true, then: 'destroy' });
      const spec = bench.spec({ limits });
      const copy = await bench.driver.restore({ id: 'copy', checkpointId: 'share', memory: true, spec });
      const client = new DaemonClient(copy);
      expect(await client.output(PROGRAMS)).toBe('256\n1 1\n1\n5');
      const again = await copy.checkpoint({ checkpointId: 'again', memory: true, then: 'continue' });
      expect(again.memory).toBe(true);
    },
  );
});
