import { Client, type Sandbox } from '@svc/sdk';
import { below, type Row, runs } from '../row.js';
import { p99 } from '../statistics.js';
import { createAndRun } from '../support/sandboxes.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** Sandboxes that start at once beside the one that works. */
const STARTING = 50;

/** Returns the durations of commands, ms each, one after another until `over`. */
async function commandsUntil(sandbox: Sandbox, over: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!over()) times.push((await timed(() => sandbox.commands.run('true'))).ms);
  return times;
}

export const crowd: Row = {
  id: 'crowd',
  about: 'commands in one sandbox, and the event loop of the server, while 50 others start at once',
  async run(context) {
    await using server = await startServerChild({ driver: context.driver, poolSize: 0 });
    const client = new Client({ ...server, requestTimeoutMs: 120_000 });
    const { value: working } = await createAndRun(client);
    const count = runs(context, 200, 5);
    let left = count;
    const alone = await commandsUntil(working, () => left-- === 0);
    await server.eventLoopDelayMs();
    let starting = true;
    const starts = Promise.all(
      Array.from({ length: runs(context, STARTING, 2) }, () => createAndRun(client)),
    ).finally(() => {
      starting = false;
    });
    const beside = await commandsUntil(working, () => !starting);
    const made = await starts;
    const delayMs = await server.eventLoopDelayMs();
    for (const { value } of made) await value.kill();
    const value = p99(beside);
    return [
      {
        id: 'crowd.commands.p99',
        what: `commands while ${STARTING} other sandboxes start at once, p99`,
        value,
        unit: 'ms',
        beside: [{ name: 'p99 before', value: p99(alone), unit: 'ms' }],
        how: `${beside.length} commands beside ${made.length} creates, ${count} before, ${context.driver} driver`,
      },
      {
        id: 'crowd.event-loop.p99',
        what: '… how late the event loop of server and gateway was, p99',
        value: delayMs,
        unit: 'ms',
        beside: [],
        target: below(delayMs, 20, '<= 20 ms'),
        how: 'looked at every 10 ms, from the first create to the last command',
      },
    ];
  },
};
