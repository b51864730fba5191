import { Client, type Sandbox } from '@svc/sdk';
import { below, type Figure, type Row, runs } from '../row.js';
import { quantile } from '../statistics.js';
import { startServerChild } from '../support/server-child.js';
import { timed } from '../support/time.js';

/** What one sandbox does to everybody else, as shell programs that never end by themselves. */
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

/** How long the calls of a neighbour take, ms, ascending. */
async function measure(client: Client, quiet: Sandbox, forMs: number): Promise<number[]> {
  const calls = [() => client.sandboxes.get(quiet.id), () => client.sandboxes.list(), () => quiet.usage()];
  const times: number[] = [];
  for (const end = performance.now() + forMs; performance.now() < end; )
    for (const call of calls) times.push((await timed(async () => call())).ms);
  return times.sort((a, b) => a - b);
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
    const alone = await measure(client, quiet, forMs);
    const figures: Figure[] = [];
    const all: number[] = [];
    for (const [name, program] of Object.entries(BOMBS)) {
      context.progress(name);
      const hostile = await client.sandboxes.create();
      const bomb = await hostile.commands.start(program, { timeoutMs: 0 });
      bomb.wait().catch(() => {});
      const times = await measure(client, quiet, forMs);
      all.push(...times);
      const p99 = quantile(times, 0.99);
      context.progress(
        `${name}: ${times.length} calls, p50 ${quantile(times, 0.5).toFixed(1)}, p99 ${p99.toFixed(1)} ms`,
      );
      await hostile.kill();
    }
    all.sort((a, b) => a - b);
    const p99 = quantile(all, 0.99);
    figures.push({
      id: 'hostility.p99',
      what: 'API calls of a neighbour during seven bombs, p99',
      value: p99,
      unit: 'ms',
      beside: [{ name: 'p99 without a bomb', value: quantile(alone, 0.99), unit: 'ms' }],
      target: below(p99, 100, '<= 100 ms'),
      how: `${Object.keys(BOMBS).join(', ')}: ${forMs / 1000} s each, ${all.length} calls; longest ${all.at(-1)!.toFixed(0)} ms`,
    });
    await quiet.kill();
    return figures;
  },
};
