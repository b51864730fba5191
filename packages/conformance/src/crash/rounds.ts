import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@svc/support/eventually';
import { call } from '../wire/call.js';
import type { Daemon } from '../wire/rpc.js';
import { run, startShell } from '../wire/run.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

interface Known {
  id: string;
  token: string;
  /** Pid of a program that counts, and must continue counting. */
  pid: number;
}

export interface CrashReport {
  rounds: number;
  adopted: number;
  halfMade: number;
}

/**
 * Kills the server without warning while it creates, runs, pauses and resumes, starts it again, and looks whether what
 * ran still runs, what was half made is deleted, and records and kernel agree.
 * @param seed decides when in each round the blow falls.
 */
export async function crashRounds(
  dataDir: string,
  driver: 'process' | 'linux',
  options: { rounds: number; random: () => number; log: (line: string) => void },
): Promise<CrashReport> {
  const report: CrashReport = { rounds: 0, adopted: 0, halfMade: 0 };
  let server = await startServerProcess(dataDir, driver);
  let survivors: Known[] = [];
  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      while (survivors.length < 2) survivors.push(await create(server));
      const paused = await create(server);
      await must(server, 'pauseSandbox', paused.id, {}, 204);
      const expiring = await create(server);
      await must(server, 'setSandboxTimeout', expiring.id, { timeout: 1 }, 204);

      // Work of every kind under way, of which nobody will hear the end.
      const made: string[] = [];
      const busy = [
        ...[1, 2, 3].map(async () => {
          const answer = await call(server, 'createSandboxV2', {
            body: { templateID: 'base', timeout: 600 },
          });
          if (answer.status === 201) made.push((answer.json() as { sandboxID: string }).sandboxID);
        }),
        call(server, 'pauseSandbox', {
          path: { sandboxID: survivors[0]!.id },
          body: { memory: round % 2 === 0 },
        }),
        call(server, 'resumeSandbox', { path: { sandboxID: paused.id }, body: { timeout: 600 } }),
        run(at(server, survivors[1]!), 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.2; done'),
      ];
      const ended = Promise.allSettled(busy);
      const waitMs = Math.round(options.random() * 2_000);
      await pause(waitMs);
      await server.kill();
      await ended;

      const began = Date.now();
      server = await startServerProcess(dataDir, driver);
      report.rounds += 1;
      const { rows, instances, checkpoints } = await eventually('the end of what was due', async () => {
        const seen = await server.inspect();
        return seen.rows.some((row) => row.id === expiring.id) ? undefined : seen;
      });
      const byId = new Map(rows.map((row) => [row.id, row]));

      // Records and kernel agree, both ways.
      for (const row of rows) {
        assert.ok(['running', 'paused'].includes(row.state), `${row.id} stays ${row.state}`);
        const instance = instances.find((one) => one.id === row.id);
        if (row.state === 'running')
          assert.equal(instance?.state, 'running', `${row.id} runs on record only`);
        else if (row.checkpointId !== null) {
          assert.ok(checkpoints.includes(row.checkpointId), `${row.id} is stored on record only`);
          assert.equal(instance, undefined, `${row.id} is stored and lives`);
        } else assert.equal(instance?.state, 'frozen', `${row.id} is frozen on record only`);
      }
      for (const instance of instances)
        assert.ok(byId.has(instance.id), `instance ${instance.id} is nobody's`);
      const wanted = new Set(rows.map((row) => row.checkpointId));
      for (const checkpoint of checkpoints)
        assert.ok(wanted.has(checkpoint), `checkpoint ${checkpoint} is nobody's`);

      // A sandbox that was reported as made is there; one that was not may be neither half there nor silent.
      for (const id of made) assert.ok(byId.has(id), `${id} was answered with 201 and is lost`);
      report.halfMade += 3 - made.length;
      assert.ok(byId.has(survivors[1]!.id), 'what ran is still on record');
      assert.ok(byId.has(survivors[0]!.id), 'what was being paused is still on record');
      assert.ok(byId.has(paused.id), 'what was being resumed is still on record');
      await goesOn(server, survivors[1]!, 'what ran');
      report.adopted += 1;
      await must(server, 'connectSandboxV2', survivors[0]!.id, { timeout: 600 });
      assert.equal((await run(at(server, survivors[0]!), 'echo back')).stdout, 'back\n');
      await must(server, 'connectSandboxV2', paused.id, { timeout: 600 });
      assert.equal((await run(at(server, paused), 'echo back')).stdout, 'back\n');

      for (const row of rows)
        if (row.id !== survivors[1]!.id) await must(server, 'killSandbox', row.id, undefined, 204);
      survivors = [survivors[1]!];
      options.log(
        `round ${round}: killed after ${waitMs} ms, back in ${Date.now() - began} ms, ${rows.length} sandboxes on record`,
      );
    }
    return report;
  } finally {
    await server.stop().catch(() => server.kill());
  }
}

const at = (server: ServerProcess, one: Known): Daemon => ({
  sandboxUrl: server.sandboxUrl,
  sandboxId: one.id,
  accessToken: one.token,
});

async function create(server: ServerProcess): Promise<Known> {
  const answer = await call(server, 'createSandboxV2', { body: { templateID: 'base', timeout: 600 } });
  assert.equal(answer.status, 201, answer.text);
  const { sandboxID, envdAccessToken } = answer.json() as { sandboxID: string; envdAccessToken: string };
  const one = { id: sandboxID, token: envdAccessToken, pid: 0 };
  const counter = await startShell(
    at(server, one),
    'i=0; while true; do i=$((i+1)); echo $i > ~/count; sleep 0.1; done',
    { tag: 'counter' },
  );
  counter.leave();
  return { ...one, pid: counter.pid };
}

async function must(
  server: ServerProcess,
  operation: string,
  sandboxID: string,
  body?: unknown,
  status?: number,
): Promise<void> {
  const answer = await call(server, operation, {
    path: { sandboxID },
    ...(body === undefined ? {} : { body }),
  });
  if (status !== undefined) assert.equal(answer.status, status, `${operation}: ${answer.text}`);
  else assert.ok(answer.status < 300, `${operation}: ${answer.text}`);
}

/** The program that counted before the blow counts on, as the same process. */
async function goesOn(server: ServerProcess, one: Known, what: string): Promise<void> {
  const count = async () =>
    Number((await run(at(server, one), `kill -0 ${one.pid} && cat ~/count`)).stdout.trim());
  const before = await eventually(`${what} to answer`, async () => (await count()) || undefined);
  await eventually(`${what} to continue`, async () => (await count()) > before);
}
