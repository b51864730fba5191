import type { Isolation } from '@svc/runtime/contract';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { Client, type Sandbox } from '@svc/sdk';
import { type BenchContext, type Figure, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { SPEC, withDriver } from '../support/driver-floor.js';
import { createAndRun, forkUntil } from '../support/sandboxes.js';
import { type ServerChild, startServerChild } from '../support/server-child.js';
import { drain, source } from '../support/streams.js';
import { interleave, timed } from '../support/time.js';

const MIB = 2 ** 20;
const TIERS = ['container', 'gvisor'] as const satisfies readonly Isolation[];
type Tier = (typeof TIERS)[number];
type Series = Record<Tier, number[]>;

interface Served {
  server: ServerChild;
  client: Client;
}

const onBoth = async <T>(make: (tier: Tier) => Promise<T>): Promise<Record<Tier, T>> => ({
  container: await make('container'),
  gvisor: await make('gvisor'),
});

/** The same work on both tiers in turn, so that other work of the machine meets both alike. */
const inTurn = (count: number, work: (tier: Tier) => Promise<number>, warmUps = 1): Promise<Series> =>
  interleave(count, { container: () => work('container'), gvisor: () => work('gvisor') }, warmUps);

/** Time from the call for a sandbox to the end of a first command in it. */
async function create({ server, client }: Served, pooled: boolean): Promise<number> {
  if (pooled) await server.poolReady();
  const { ms, value } = await createAndRun(client);
  await value.kill();
  return ms;
}

/** Time until all copies answer. */
const fork = (sandbox: Sandbox, count: number) => forkUntil(sandbox, { count }, (copy) => copy.isRunning());

/** Returns the memory that the cgroup of an idle sandbox is charged with, MiB: gVisor's kernel is in it. */
async function idleMiB(context: BenchContext, tier: Tier, count: number): Promise<number> {
  return withDriver(
    context,
    async (driver) => {
      let total = 0;
      for (let index = 0; index < count; index += 1) {
        const instance = await driver.create({ id: `idle${index}`, spec: SPEC });
        const { memoryBytes } = await instance.stats();
        total += memoryBytes / MIB;
      }
      return total / count;
    },
    tier,
  );
}

/** Uses a server of each tier. */
async function withServers<T>(
  poolSize: number,
  use: (servers: Record<Tier, Served>) => Promise<T>,
): Promise<T> {
  const start = async (isolation: Tier) => startServerChild({ driver: 'linux', poolSize, isolation });
  await using container = await start('container');
  await using gvisor = await start('gvisor');
  const served = (server: ServerChild): Served => ({
    server,
    client: new Client({ ...server, requestTimeoutMs: 120_000 }),
  });
  return await use({ container: served(container), gvisor: served(gvisor) });
}

async function measure(context: BenchContext): Promise<Record<string, Series>> {
  const few = runs(context, 15, 1);
  const pool = await withServers(2, (servers) => {
    context.progress('create, from the pool');
    return inTurn(few, (tier) => create(servers[tier], true));
  });
  const others = await withServers(0, async (servers) => {
    context.progress('create, cold');
    const cold = await inTurn(few, (tier) => create(servers[tier], false));
    const sandboxes = await onBoth((tier) => servers[tier].client.sandboxes.create());
    context.progress('commands');
    const run = await inTurn(
      runs(context, 100, 2),
      async (tier) => (await timed(() => sandboxes[tier].commands.run('true'))).ms,
    );
    context.progress('transfers');
    const { up, down } = await transfers(context, sandboxes);
    context.progress('forks');
    const one = await inTurn(runs(context, 6, 1), (tier) => fork(sandboxes[tier], 1));
    const eight = await inTurn(runs(context, 4, 1), (tier) => fork(sandboxes[tier], 8));
    return { cold, run, up, down, one, eight };
  });
  context.progress('memory');
  const idle = await onBoth(async (tier) => [await idleMiB(context, tier, runs(context, 8, 1))]);
  return { pool, ...others, idle };
}

async function transfers(
  context: BenchContext,
  sandboxes: Record<Tier, Sandbox>,
): Promise<{ up: Series; down: Series }> {
  const sizeMiB = runs(context, 1024, 8);
  const count = runs(context, 2, 1);
  const speed = async (work: () => Promise<unknown>) => sizeMiB / ((await timed(work)).ms / 1000);
  const write = (tier: Tier) =>
    speed(() => sandboxes[tier].files.write('big', source(sizeMiB), { requestTimeoutMs: 0 }));
  const read = (tier: Tier) =>
    speed(async () => drain(await sandboxes[tier].files.read('big', { format: 'stream' })));
  const up = await inTurn(count, write, 0);
  const down = await inTurn(count, read, 0);
  for (const tier of TIERS) await sandboxes[tier].commands.run('rm big');
  return { up, down };
}

/** The name of each figure, in the order of the table. */
const FIGURES = {
  pool: { what: 'create + first command, from the pool', unit: 'ms' },
  cold: { what: 'create + first command, cold', unit: 'ms' },
  run: { what: "commands.run('true')", unit: 'ms' },
  up: { what: 'upload of 1 GiB', unit: 'MiB/s' },
  down: { what: 'download of 1 GiB', unit: 'MiB/s' },
  one: { what: 'fork, until the copy answers', unit: 'ms' },
  eight: { what: 'fork into 8, until all answer', unit: 'ms' },
  idle: { what: 'memory of an idle sandbox (cgroup)', unit: 'MiB' },
} as const satisfies Record<string, Pick<Figure, 'what' | 'unit'>>;

export const tiers: Row = {
  id: 'tiers',
  about: 'gVisor beside containers: create, commands, transfers, forks, memory, in turn',
  async run(context) {
    if (context.driver !== 'linux') return { skipped: 'the process driver has no tiers' };
    if (!linuxDriverCanRun(await checkHost({ isolation: 'gvisor' })))
      return { skipped: 'this host has no gVisor' };
    const measured = await measure(context);
    return Object.entries(FIGURES).map(([id, { what, unit }]): Figure => {
      const { container, gvisor } = measured[id]!;
      return {
        id: `tiers.${id}`,
        what: `gVisor: ${what}`,
        value: summarize(gvisor).p50,
        unit,
        beside: [{ name: 'container', value: summarize(container).p50, unit }],
        how: `p50 of ${gvisor.length}, in turn`,
      };
    });
  },
};
