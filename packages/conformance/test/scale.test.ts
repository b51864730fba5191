import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServer } from '@svc/server';
import { expect, test } from 'vitest';
import { embeddedOptions } from '../src/embedded-options.js';
import { fillRows } from '../src/scale/rows.js';
import { createTeam } from '../src/targets/teams.js';
import { type Api, assertStatus, type CallOptions, call } from '../src/wire/call.js';
import { closeConnections } from '../src/wire/send.js';

const SMALL = 100;
const LARGE = Number(process.env.SVC_SCALE_ROWS ?? 100_000);
const SANDBOX = 'i00000000000000000001';
/** A scan of a thousand times as many rows would cost hundreds of times as much; noise on a busy machine does not. */
const LOOSEST = 25;

const reads: [string, string, CallOptions][] = [
  ['a page of sandboxes', 'listSandboxesV2', { query: { limit: 50 } }],
  ['a page of paused sandboxes', 'listSandboxesV2', { query: { limit: 50, state: 'paused' } }],
  ['a page of logs', 'getSandboxLogsV2', { path: { sandboxID: SANDBOX }, query: { limit: 50 } }],
  ['a page of events', 'listEvents', { query: { limit: 50 } }],
  ['events of one sandbox', 'listSandboxEvents', { path: { sandboxID: SANDBOX }, query: { limit: 50 } }],
];

/** The fastest of many: what the work costs, without what else the machine was doing. */
async function fastest(api: Api, operation: string, options: CallOptions): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 40; round += 1) {
    const began = performance.now();
    assertStatus(await call(api, operation, options), 200);
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

test(`lists, logs and events read ${LARGE} rows like ${SMALL}`, async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-scale-'));
  const server = await startServer(embeddedOptions(dataDir, 'process'));
  try {
    const team = await createTeam(server);
    const measure = async () => {
      const times = new Map<string, number>();
      for (const [what, operation, options] of reads)
        times.set(what, await fastest(team, operation, options));
      return times;
    };
    await fillRows(server, team.teamId, SANDBOX, SMALL);
    const small = await measure();
    // More of the same, numbered on.
    await server.context.db.deleteFrom('sandbox_logs').execute();
    await fillRows(server, team.teamId, SANDBOX, LARGE - SMALL);
    const large = await measure();
    for (const [what, before] of small) {
      const ratio = large.get(what)! / before;
      console.log(
        `scale: ${what}: ${before.toFixed(2)} ms of ${SMALL}, ${large.get(what)!.toFixed(2)} ms of ${LARGE}, ratio ${ratio.toFixed(2)}`,
      );
      expect(ratio, what).toBeLessThan(LOOSEST);
    }
  } finally {
    await server.stop();
    closeConnections();
    await rm(dataDir, { recursive: true, force: true });
  }
}, 240_000);
