import { setTimeout as sleep } from 'node:timers/promises';
import type { Uses } from '../context.js';
import { daemonLogs } from '../daemon/daemon-control.js';
import type { LogEntry } from '../daemon/log-page.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';
import { daemonToken } from '../state/sandbox-tokens.js';
import { storeLogs } from './store-logs.js';

/** Entries per page: few enough that other work does not wait long while one is read and stored. */
const PAGE = 250;
/** More than a daemon keeps: a collection ends when it has caught up or its time is over. */
const MAX_PAGES = 4_400;
/** Pause of a background collection after a page, as a multiple of the time that the page took. */
const REST = 3;

/**
 * Collects what the processes of a sandbox printed since the last collection. Calls for one sandbox run one after another.
 * @param options.timeoutMs bounds the whole collection.
 * @param options.resting pauses for three quarters of the time, because a sandbox may print without end.
 * @returns the daemon's number of the last entry taken.
 */
export function collectLogs(
  context: Uses<'config' | 'db' | 'keys' | 'now'>,
  live: LiveSandbox,
  options: { timeoutMs: number; resting?: boolean },
): Promise<number> {
  const run = async (): Promise<number> => {
    const { instance, row } = live;
    if (instance === undefined) return 0;
    let after = live.logCursor ?? (await readCursor(context, row));
    // Until it is known again: a failure may have come before or after the commit.
    live.logCursor = undefined;
    const signal = AbortSignal.timeout(options.timeoutMs);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const began = performance.now();
      const logs = await daemonLogs(instance, after, PAGE, {
        token: daemonToken(context.keys, live.row),
        signal,
      });
      if (logs.entries.length === 0) break;
      after = logs.entries.at(-1)!.seq;
      await storeLogs(context, row, logs, after);
      if (logs.entries.length < PAGE) break;
      if (options.resting !== true) continue;
      await sleep((performance.now() - began) * REST, undefined, { ref: false });
      // The next collection reads the rest.
      if (signal.aborted) break;
    }
    // The cursor of an instance that has ended meanwhile says nothing about the next one.
    if (live.instance === instance) live.logCursor = after;
    return after;
  };
  const previous = live.logs ?? Promise.resolve(0);
  const result = previous.then(run, run);
  live.logs = result.catch(() => 0);
  return result;
}

/** Adds entries of the server itself to the log of a sandbox. Waits for running collections. */
export function addToLog(
  context: Uses<'config' | 'db' | 'now'>,
  live: LiveSandbox,
  entries: Omit<LogEntry, 'seq'>[],
): Promise<void> {
  const page = { entries: entries.map((entry) => ({ ...entry, seq: 0 })), dropped: 0 };
  const previous = live.logs ?? Promise.resolve(0);
  const result = previous.then(() => storeLogs(context, live.row, page, undefined));
  live.logs = result.then(
    () => 0,
    () => 0,
  );
  return result;
}

/** Makes the log of a fork begin after the entries that its memory copied from the source. */
export async function startLogsAt(
  context: Uses<'db' | 'now'>,
  row: SandboxRow,
  daemonSeq: number,
): Promise<void> {
  await context.db
    .insertInto('log_cursors')
    .values({
      sandbox_id: row.id,
      team_id: row.team_id,
      execution_id: row.execution_id,
      daemon_seq: daemonSeq,
      next_seq: 1,
      size_bytes: 0,
      updated_at: context.now(),
    })
    .execute();
}

/** The end of the last collection, in the daemon's count. */
async function readCursor(context: Uses<'db'>, row: SandboxRow): Promise<number> {
  const cursor = await context.db
    .selectFrom('log_cursors')
    .select('daemon_seq')
    .where('sandbox_id', '=', row.id)
    .executeTakeFirst();
  return cursor?.daemon_seq ?? 0;
}

/** Skips the entries in the memory of a snapshot: they belong to the sandbox that the snapshot was taken of. */
export async function skipInheritedLogs(
  context: Uses<'db' | 'keys' | 'now'>,
  live: LiveSandbox,
): Promise<void> {
  const { instance, row } = live;
  if (instance === undefined) return;
  let after = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const logs = await daemonLogs(instance, after, PAGE, { token: daemonToken(context.keys, live.row) });
    if (logs.entries.length === 0) break;
    after = logs.entries.at(-1)!.seq;
  }
  if (after > 0) await startLogsAt(context, row, after);
}

/** A freshly booted daemon starts to count at the beginning. */
export async function resetLogCursor(context: Uses<'db'>, live: LiveSandbox): Promise<void> {
  live.logCursor = undefined;
  await context.db
    .updateTable('log_cursors')
    .set({ daemon_seq: 0 })
    .where('sandbox_id', '=', live.row.id)
    .execute();
}
