import { type BenchContext, type Figure, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { createAndRun } from '../support/sandboxes.js';
import { drain, source } from '../support/streams.js';
import { interleave, timed } from '../support/time.js';
import { lacksTrialCluster, type Member, type Served, withClusterBeside } from '../support/trial-cluster.js';

type Place = 'linux' | Member;
type Series = Record<Place, number[]>;

/** Creates in turn on `linux` and on the member that has fewer measurements yet, each until a first command has ended. */
async function creates({ linux, incus, members }: Served, count: number, pooled: boolean): Promise<Series> {
  const series: Series = { linux: [], local: [], remote: [] };
  /** Members that have unpacked the image, which each does once. */
  const warm = new Set<Member>();
  const once = async ({ server, client }: Served['linux']) => {
    if (pooled) await server.poolReady();
    return createAndRun(client);
  };
  const few = (member: Member) => (warm.has(member) ? series[member].length : -1);
  for (let tries = 0; Math.min(few('local'), few('remote')) < count; tries += 1) {
    if (tries > 10 * (count + 1)) throw new Error('Incus starts sandboxes on one of its members alone');
    // A pool is filled there from now on, and has what was put into it before.
    await members.startOn(few('local') <= few('remote') ? 'local' : 'remote');
    const other = await once(linux);
    await other.value.kill();
    const { ms, value } = await once(incus);
    const member = await members.of(value.sandboxId);
    await value.kill();
    if (warm.size === 2) series.linux.push(other.ms);
    if (warm.has(member)) series[member].push(ms);
    warm.add(member);
  }
  return series;
}

async function measure(context: BenchContext, sizeMiB: number): Promise<Record<string, Series>> {
  const few = runs(context, 9, 1);
  const measured: Record<string, Series> = {};
  return withClusterBeside(async (serve) => {
    context.progress('create, from the pool');
    await serve(2, async (served) => {
      measured.pool = await creates(served, few, true);
    });
    await serve(0, async (served) => {
      const { linux, incus, members } = served;
      context.progress('create, cold');
      measured.cold = await creates(served, few, false);
      const on = async (member: Member) => {
        await members.startOn(member);
        return incus.client.sandboxes.create({ timeoutMs: 3_600_000 });
      };
      const sandboxes = {
        linux: await linux.client.sandboxes.create({ timeoutMs: 3_600_000 }),
        local: await on('local'),
        remote: await on('remote'),
      };
      const inTurn = (count: number, work: (place: Place) => Promise<unknown>): Promise<Series> => {
        const one = (place: Place) => async () => (await timed(() => work(place))).ms;
        return interleave(count, { linux: one('linux'), local: one('local'), remote: one('remote') });
      };
      context.progress('commands');
      measured.run = await inTurn(runs(context, 50, 2), (place) => sandboxes[place].commands.run('true'));
      context.progress('copies');
      const copies = runs(context, 5, 1);
      measured.in = await inTurn(copies, (place) =>
        sandboxes[place].files.write('big', source(sizeMiB), { requestTimeoutMs: 0 }),
      );
      measured.out = await inTurn(copies, async (place) =>
        drain(await sandboxes[place].files.read('big', { format: 'stream' })),
      );
      for (const sandbox of Object.values(sandboxes)) await sandbox.kill();
    });
    return measured;
  });
}

export const cluster: Row = {
  id: 'cluster',
  about:
    'a cluster of Incus beside the linux driver: create, commands, copies, on the member that is asked and on another',
  async run(context) {
    if (context.driver !== 'linux') return { skipped: 'it stands beside the linux driver' };
    const lacks = await lacksTrialCluster();
    if (lacks !== undefined) return { skipped: lacks };
    const sizeMiB = runs(context, 100, 4);
    const what: Record<string, string> = {
      pool: 'create + first command, from the pool',
      cold: 'create + first command, cold',
      run: "commands.run('true')",
      in: `copy of ${sizeMiB} MiB in`,
      out: `copy of ${sizeMiB} MiB out`,
    };
    const measured = await measure(context, sizeMiB);
    return Object.entries(measured).flatMap(([id, series]) =>
      (['local', 'remote'] as const).map(
        (member): Figure => ({
          id: `cluster.${id}.${member}`,
          what: `Incus, ${member} member: ${what[id]}`,
          value: summarize(series[member]).p50,
          unit: 'ms',
          beside: [{ name: 'linux', value: summarize(series.linux).p50, unit: 'ms' }],
          how: `p50 of ${series[member].length}, in turn`,
        }),
      ),
    );
  },
};
