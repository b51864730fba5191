import { Client, type Sandbox } from '@svc/sdk';
import { below, type Figure, type Row, runs } from '../row.js';
import { p99 } from '../statistics.js';
import { startCommandChild } from '../support/command-child.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** Attacks of one sandbox on all others, as shell programs that never end by themselves. */
const BOMBS = {
  fork: 'bomb() { bomb | bomb & }; bomb; while :; do :; done',
  memory: 'while :; do tail /dev/zero; done',
  descriptors:
    "while :; do python3 -c 'import os\nwhile True:\n try: os.pipe()\n except OSError: break'; done",
  inodes: 'i=0; while :; do mkdir -p /tmp/n/$((i % 100)); : > /tmp/n/$((i % 100))/$i; i=$((i + 1)); done',
  output: 'yes "$(head -c 4000 /dev/zero | tr "\\0" x)"',
  connections:
    'while :; do python3 -c \'import socket\nfor p in range(1, 60000): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("203.0.115.9", p))\'; done',
  disk: 'while :; do cat /dev/zero > /tmp/fill; rm -f /tmp/fill; done',
} satisfies Record<string, string>;

/** Returns the durations of a neighbour's calls, ms. To measure usage takes 50 ms by itself. */
async function measure(client: Client, quiet: Sandbox, forMs: number): Promise<number[]> {
  const calls = [() => client.sandboxes.get(quiet.id), () => client.sandboxes.list(), () => quiet.usage()];
  const times: number[] = [];
  for (const end = performance.now() + forMs; performance.now() < end; )
    for (const call of calls) times.push((await timed(async () => call())).ms);
  return times;
}

/** The effect of one bomb: p99 of the neighbour's calls, and of the same calls just before it. */
interface Paired {
  name: string;
  before: number;
  during: number;
}

export const hostility: Row = {
  id: 'hostility',
  about: 'the API while one sandbox runs one bomb after another',
  async run(context) {
    if (context.driver !== 'linux') return { skipped: 'plain processes have no limits' };
    await using server = await startServerChild({ driver: 'linux', poolSize: 0 });
    const client = new Client(server);
    const quiet = await client.sandboxes.create();
    const forMs = runs(context, 8_000, 300);
    await measure(client, quiet, forMs / 4);
    const alone: number[] = [];
    const all: number[] = [];
    const pairs: Paired[] = [];
    for (const [name, program] of Object.entries(BOMBS)) {
      const hostile = await client.sandboxes.create();
      // Right before each bomb: what else the machine does changes meanwhile.
      const before = await measure(client, quiet, forMs / 2);
      const reader = await startCommandChild({ server, sandboxId: hostile.id, command: program });
      const during = await measure(client, quiet, forMs);
      await hostile.kill();
      reader.kill();
      alone.push(...before);
      all.push(...during);
      const pair = { name, before: p99(before), during: p99(during) };
      pairs.push(pair);
      context.progress(
        `${name}: ${during.length} calls, p99 ${pair.during.toFixed(1)} ms, ${pair.before.toFixed(1)} ms before it`,
      );
    }
    await quiet.kill();
    const value = p99(all);
    const worst = pairs.reduce((most, each) =>
      each.during / each.before > most.during / most.before ? each : most,
    );
    return [
      {
        id: 'hostility.p99',
        what: 'API calls of a neighbour during seven bombs, p99',
        value,
        unit: 'ms',
        beside: [{ name: 'p99 without a bomb', value: p99(alone), unit: 'ms' }],
        target: below(value, 100, '<= 100 ms'),
        how: `${forMs / 1000} s each, ${all.length} calls, longest ${Math.max(...all).toFixed(0)} ms: ${pairs.map((each) => `${each.name} ${each.during.toFixed(0)} (${each.before.toFixed(0)} before)`).join(', ')}`,
      },
      {
        id: 'hostility.worst',
        what: `… the bomb that costs most (${worst.name}), p99`,
        value: worst.during,
        unit: 'ms',
        beside: [{ name: 'p99 right before it', value: worst.before, unit: 'ms' }],
        how: 'by the ratio of the two',
      },
    ] satisfies Figure[];
  },
};
