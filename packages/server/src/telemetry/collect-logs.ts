import type { ServerContext } from '../context.js';
import { accessToken } from '../keys/sandbox-tokens.js';
import { daemonLogs } from '../sandboxes/daemon-control.js';
import type { LiveSandbox, SandboxRow } from '../sandboxes/live.js';
import type { LogEntry } from '../sandboxes/log-page.js';
import type { Tx } from '../storage/schema.js';
import { levelRank } from './levels.js';

const PAGE = 1_000;
const MAX_PAGES = 8;

/**
 * Takes over what the processes of a sandbox printed since the last time. Calls for one sandbox run one after another.
 * @param options.timeoutMs bounds the whole collection.
 * @returns the daemon's number of the last entry taken.
 */
export function collectLogs(
  context: ServerContext,
  live: LiveSandbox,
  options: { timeoutMs: number },
): Promise<number> {
  const run = async (): Promise<number> => {
    const { instance, row } = live;
    if (instance === undefined) return 0;
    let after = await readCursor(context, row);
    const signal = AbortSignal.timeout(options.timeoutMs);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const logs = await daemonLogs(instance, after, PAGE, {
        token: accessToken(context.keys, row.id),
        signal,
      });
      if (logs.entries.length === 0) break;
      after = logs.entries.at(-1)!.seq;
      await store(context, row, logs.entries, after);
      if (logs.entries.length < PAGE) break;
    }
    return after;
  };
  const previous = live.logs ?? Promise.resolve(0);
  const result = previous.then(run, run);
  live.logs = result.catch(() => 0);
  return result;
}

/** Makes a fork's logs begin after the entries that its memory has from the source. */
export async function startLogsAt(context: ServerContext, row: SandboxRow, daemonSeq: number): Promise<void> {
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

/** Where the last collection stopped, in the daemon's count. */
async function readCursor(context: ServerContext, row: SandboxRow): Promise<number> {
  const cursor = await context.db
    .selectFrom('log_cursors')
    .select('daemon_seq')
    .where('sandbox_id', '=', row.id)
    .executeTakeFirst();
  return cursor?.daemon_seq ?? 0;
}

/** Passes over what the memory of a snapshot brought along: it belongs to the sandbox that the snapshot was taken of. */
export async function skipInheritedLogs(context: ServerContext, live: LiveSandbox): Promise<void> {
  const { instance, row } = live;
  if (instance === undefined) return;
  let after = 0;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const logs = await daemonLogs(instance, after, PAGE, { token: accessToken(context.keys, row.id) });
    if (logs.entries.length === 0) break;
    after = logs.entries.at(-1)!.seq;
  }
  if (after > 0) await startLogsAt(context, row, after);
}

/** A daemon that booted afresh counts from the start again. */
export async function resetLogCursor(context: ServerContext, sandboxId: string): Promise<void> {
  await context.db
    .updateTable('log_cursors')
    .set({ daemon_seq: 0 })
    .where('sandbox_id', '=', sandboxId)
    .execute();
}

async function store(
  context: ServerContext,
  row: SandboxRow,
  entries: LogEntry[],
  daemonSeq: number,
): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    const cursor = await tx
      .selectFrom('log_cursors')
      .selectAll()
      .where('sandbox_id', '=', row.id)
      .executeTakeFirst();
    const first = cursor?.next_seq ?? 1;
    const now = context.now();
    const rows = entries.map((entry, index) => ({
      sandbox_id: row.id,
      team_id: row.team_id,
      seq: first + index,
      // What claims to be of the future would outlive the retention.
      at: Math.min(entry.at, now),
      level: levelRank(entry.level),
      // PostgreSQL has no NUL in text; in JSON it is an escape.
      message: entry.message.replaceAll('\0', '\uFFFD'),
      fields: JSON.stringify(entry.fields),
    }));
    for (let at = 0; at < rows.length; at += 100)
      await tx
        .insertInto('sandbox_logs')
        .values(rows.slice(at, at + 100))
        .execute();
    const added = rows.reduce((sum, entry) => sum + entry.message.length + entry.fields.length, 0);
    const values = {
      sandbox_id: row.id,
      team_id: row.team_id,
      execution_id: row.execution_id,
      daemon_seq: daemonSeq,
      next_seq: first + rows.length,
      size_bytes: (cursor?.size_bytes ?? 0) + added,
      updated_at: now,
    };
    await tx
      .insertInto('log_cursors')
      .values(values)
      .onConflict((conflict) => conflict.column('sandbox_id').doUpdateSet(values))
      .execute();
    if (values.size_bytes > context.config.logs.maxBytesPerSandbox)
      await cut(tx, row.id, context.config.logs.maxBytesPerSandbox);
  });
}

/** Drops the oldest entries until three quarters of the cap are left, so that it does not happen at every write. */
async function cut(tx: Tx, sandboxId: string, maxBytes: number): Promise<void> {
  const rows = await tx
    .selectFrom('sandbox_logs')
    .select(['seq', (build) => build.fn<number>('length', ['message']).as('size')])
    .where('sandbox_id', '=', sandboxId)
    .orderBy('seq', 'desc')
    .execute();
  let kept = 0;
  const firstOut = rows.find((row) => {
    kept += Number(row.size);
    return kept > maxBytes * 0.75;
  });
  if (firstOut === undefined) return;
  await tx
    .deleteFrom('sandbox_logs')
    .where('sandbox_id', '=', sandboxId)
    .where('seq', '<=', firstOut.seq)
    .execute();
  await tx
    .updateTable('log_cursors')
    .set({ size_bytes: Math.round(maxBytes * 0.75) })
    .where('sandbox_id', '=', sandboxId)
    .execute();
}
