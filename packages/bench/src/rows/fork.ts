import { Client } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { ask, SPEC, withDriver } from '../support/driver-floor.js';
import { forkUntil } from '../support/sandboxes.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

const PROGRAM = `
import sys
memory = bytearray(4 * 1024 * 1024)
print("ready", flush=True)
for line in sys.stdin:
    print("again", flush=True)
`;

export const fork: Row = {
  id: 'fork',
  about: 'fork of a sandbox with a running program, one and eight copies',
  async run(context) {
    if (context.driver !== 'linux') return { skipped: 'the process driver cannot fork memory' };
    const count = runs(context, 6, 1);
    const floor = await withDriver(context, async (driver) => {
      if (!driver.capabilities.memorySnapshot) return undefined;
      const source = await driver.create({ id: 'forksource', spec: SPEC });
      const pauses: number[] = [];
      const singles: number[] = [];
      const eights: number[] = [];
      const restore = async (round: number, index: number) => {
        const copy = await driver.restore({
          id: `fork${round}x${index}`,
          spec: SPEC,
          checkpointId: `c${round}`,
          memory: true,
        });
        await ask(copy);
        return copy;
      };
      for (let round = -1; round < count; round++) {
        const checkpointId = `c${round + 1}`;
        const checkpoint = await source.checkpoint({
          checkpointId,
          memory: true,
          then: 'continue',
          brief: true,
        });
        const one = await timed(() => restore(round + 1, 0));
        const eight = await timed(() =>
          Promise.all(Array.from({ length: 8 }, (_, index) => restore(round + 1, index + 1))),
        );
        for (const copy of [one.value, ...eight.value]) await copy.destroy();
        await driver.deleteCheckpoint(checkpointId);
        if (round < 0) continue;
        pauses.push(checkpoint.frozenMs);
        singles.push(one.ms);
        eights.push(eight.ms);
      }
      return { pause: summarize(pauses).p50, single: summarize(singles).p50, eight: summarize(eights).p50 };
    });
    if (floor === undefined) return { skipped: 'this host cannot store memory' };

    await using server = await startServerChild({ driver: 'linux', poolSize: 0 });
    const client = new Client(server);
    const sandbox = await client.sandboxes.create();
    await sandbox.files.write('program.py', PROGRAM);
    const program = await sandbox.commands.start('python3 -u program.py', { stdin: true });
    for await (const event of program) if (event.type === 'stdout' && event.text.includes('ready')) break;
    const one: number[] = [];
    const eight: number[] = [];
    for (let round = -1; round < count; round++) {
      for (const [copies, series] of [
        [1, one],
        [8, eight],
      ] as const) {
        const ms = await forkUntil(sandbox, { count: copies }, (copy) => copy.isRunning());
        if (round >= 0) series.push(ms);
      }
    }
    await sandbox.kill();
    const how = `${count} rounds; daemon and a Python program inside`;
    return [
      {
        id: 'fork.pause',
        what: 'fork: source paused (driver)',
        value: floor.pause,
        unit: 'ms',
        beside: [],
        target: below(floor.pause, 120, '<= 120 ms'),
        how: `${count} rounds, daemon only`,
      },
      {
        id: 'fork.restore',
        what: 'fork: one copy until it answers (driver)',
        value: floor.single,
        unit: 'ms',
        beside: [],
        target: below(floor.single, 100, '<= 100 ms'),
        how: `${count} rounds, daemon only`,
      },
      {
        id: 'fork.1',
        what: 'sandbox.fork(), until it answers',
        value: summarize(one).p50,
        unit: 'ms',
        beside: [{ name: 'the driver alone', value: floor.pause + floor.single, unit: 'ms' }],
        target: below(summarize(one).p50, 150, '<= 150 ms'),
        how,
      },
      {
        id: 'fork.8',
        what: 'sandbox.fork({ count: 8 }), until all answer',
        value: summarize(eight).p50,
        unit: 'ms',
        beside: [{ name: 'the driver alone', value: floor.pause + floor.eight, unit: 'ms' }],
        target: below(summarize(eight).p50, 400, '<= 400 ms'),
        how,
      },
    ];
  },
};
