import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { isGate } from '@svc/support/testing/tier';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type Gaps, skipGap } from '../../src/testing/gaps.js';
import { type DriverFactory, type MadeInstance, Workbench } from '../../src/testing/workbench.js';
import { type CountingProgram, MEMORY, PROGRAMS, startProgram, step } from './counting-programs.js';

const heavy = process.env.SVC_HEAVY === '1';

/** The number of copies of each kind that are made at once. */
const KINDS: { program: CountingProgram; counts: number[] }[] = [
  ...PROGRAMS.map((program) => ({ program, counts: heavy ? [1, 8, 100] : [1, 8] })),
  // Eight copies are 3.2 GB of pages to write: half a minute that the nightly tier has.
  { program: MEMORY, counts: isGate ? [1] : [1, 8] },
];

/** Programs asked at the same time; more would only wait for the processor. */
const ASKED_AT_ONCE = 8;

/**
 * Declares the suite of forks for a driver that stores memory.
 * @param options.most copies that are made at once. Default 100.
 */
export function describeForks(
  name: string,
  factory: DriverFactory,
  { skip, gaps, most = 100 }: { skip: string | undefined; gaps?: Gaps; most?: number },
): void {
  if (!heavy) console.warn('Forks into 100 are skipped. Set SVC_HEAVY=1.');
  else if (most < 100) console.warn(`Forks into more than ${most} are skipped: see gvisor-gaps.txt.`);
  describe.skipIf(skip !== undefined)(`forks of running programs: ${name}`, () => {
    const bench = new Workbench(factory);
    beforeEach((context) => skipGap(context, gaps));
    const rows: Record<string, Record<string, number>> = {};
    beforeAll(() => bench.open());
    afterEach(() => bench.sweep());
    afterAll(async () => {
      await bench.close();
      await bench.remove();
      console.log(
        'milliseconds until every copy answers, MiB of all copies, milliseconds for which the source is frozen',
      );
      console.table(rows);
    });

    async function fork(
      checkpointId: string,
      count: number,
    ): Promise<{ copies: MadeInstance[]; ms: number }> {
      const since = performance.now();
      const copies = await Promise.all(
        Array.from({ length: count }, () => bench.restore(checkpointId, true)),
      );
      return { copies, ms: Math.round(performance.now() - since) };
    }

    it.each(KINDS)(
      'continue where the source was, each by itself, and leave it unharmed: $program.title',
      async ({ program, counts }) => {
        const { instance, client } = await bench.create();
        await startProgram(client, program);
        expect(await step(client, program)).toBe('1');
        expect(await step(client, program)).toBe('2');
        const made = await instance.checkpoint({
          checkpointId: 'kind',
          memory: true,
          then: 'continue',
          brief: true,
        });
        if (program === MEMORY) expect(made.sizeBytes).toBeGreaterThan(400e6);
        // The source continues before, while and after its copies are made.
        let count = 3;
        expect(await step(client, program)).toBe('3');
        const row: Record<string, number> = { frozen: made.frozenMs };
        for (const number of counts.filter((count) => count <= most)) {
          const { copies, ms } = await fork('kind', number);
          row[`${number}`] = ms;
          // Each copy makes another number of steps, so that it would notice the steps of its neighbours.
          for (let first = 0; first < copies.length; first += ASKED_AT_ONCE) {
            await Promise.all(
              copies.slice(first, first + ASKED_AT_ONCE).map(async (copy, index) => {
                for (let turn = 0; turn <= index % 3; turn += 1)
                  expect(await step(copy.client, program)).toBe(String(3 + turn));
              }),
            );
          }
          expect(await step(client, program)).toBe(String(++count));
          row[`${number}, MiB`] = await memoryOf(copies);
          await Promise.all(copies.map((copy) => copy.instance.destroy()));
        }
        rows[program.title] = row;
      },
      heavy ? 900_000 : 400_000,
    );

    it('find the connections of the source closed, and serve new ones; the source keeps its own', async () => {
      const { instance, client } = await bench.create();
      await client.start(`mkdir /tmp/open; cd /tmp/open; exec node -e '
const net = require("net"); const fs = require("fs"); let n = 0;
const watch = (side) => (s) => {
  s.on("error", (e) => fs.appendFileSync("errors", e.code + "\\n"));
  s.on("close", () => fs.appendFileSync("closed", side + "\\n"));
};
net.createServer((s) => { watch("server")(s); s.on("data", () => s.write(String(++n))); }).listen(8080, "0.0.0.0", () => {
  const c = net.connect(8080, "127.0.0.1"); watch("client")(c); c.on("connect", () => fs.writeFileSync("up", "1"));
});'`);
      await eventually(
        'the server to be up',
        async () => (await client.run('test -s /tmp/open/up')).exitCode === 0,
      );
      const outer = await instance.dial(8080);
      expect(await ask(outer)).toBe('1');
      await instance.checkpoint({ checkpointId: 'open', memory: true, then: 'continue', brief: true });
      expect(await ask(outer)).toBe('2');
      const { copies } = await fork('open', 2);
      for (const copy of copies) {
        // The connection from outside, and both ends of the one that never left the sandbox.
        const closed = await eventually('the copy to see its connections closed', async () => {
          const lines = (await copy.client.output('sort /tmp/open/closed')).split('\n');
          return lines.length === 3 ? lines : undefined;
        });
        expect(closed).toEqual(['client', 'server', 'server']);
        const fresh = await copy.instance.dial(8080);
        expect(await ask(fresh)).toBe('2');
        expect(await ask(fresh)).toBe('3');
        fresh.destroy();
      }
      const errors = await copies[0]!.client.output('cat /tmp/open/errors 2>/dev/null || true');
      console.log(
        `a copy's old connections close with: ${errors.replaceAll('\n', ', ') || 'an end, no error'}`,
      );
      expect(await ask(outer)).toBe('3');
      expect((await client.run('test -e /tmp/open/closed')).exitCode).not.toBe(0);
      outer.destroy();
    });
  });
}

/** The memory of all copies together, MiB: gVisor's kernel is in it. */
async function memoryOf(copies: readonly MadeInstance[]): Promise<number> {
  const used = await Promise.all(copies.map(({ instance }) => instance.stats()));
  return Math.round(used.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) / 2 ** 20);
}

/** Sends a byte and gives the answer. */
async function ask(socket: Duplex): Promise<string> {
  const answer = once(socket, 'data', { signal: AbortSignal.timeout(30_000) });
  socket.write('?');
  const [data] = (await answer) as [Buffer];
  return data.toString();
}
