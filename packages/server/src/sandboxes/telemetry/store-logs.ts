import type { Insertable } from 'kysely';
import { fromJson, type Json, toJson } from '../../storage/json.js';
import type { SandboxLogsTable, Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import type { LogEntry, LogPage } from '../daemon/log-page.js';
import type { SandboxRow } from '../state/live.js';

/** Rows per insert. */
const BATCH = 100;
/** Rows read in one step while the log is shortened. */
const CUT_STEP = 2_000;

/**
 * Appends a page of a daemon's log to the stored log of the sandbox. Times never decrease and are never later than the server's
 * clock, so that reading by time and reading by number give the same order.
 * @param daemonSeq the daemon's number of the last entry; undefined when they are not of the daemon
 */
export async function storeLogs(
  context: Uses<'config' | 'db' | 'now'>,
  row: SandboxRow,
  page: LogPage,
  daemonSeq: number | undefined,
): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    const cursor = await tx
      .selectFrom('log_cursors')
      .selectAll()
      .where('sandbox_id', '=', row.id)
      .executeTakeFirst();
    const newest = await tx
      .selectFrom('sandbox_logs')
      .select('at')
      .where('sandbox_id', '=', row.id)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    const rows = toRows(row, page, {
      firstSeq: cursor?.next_seq ?? 1,
      earliest: newest === undefined ? 0 : Number(newest.at),
      latest: context.now(),
    });
    for (let at = 0; at < rows.length; at += BATCH)
      await tx
        .insertInto('sandbox_logs')
        .values(rows.slice(at, at + BATCH))
        .execute();
    const added = rows.reduce((sum, entry) => sum + entry.message.length + entry.fields.length, 0);
    const values = {
      sandbox_id: row.id,
      team_id: row.team_id,
      execution_id: row.execution_id,
      daemon_seq: daemonSeq ?? cursor?.daemon_seq ?? 0,
      next_seq: (cursor?.next_seq ?? 1) + rows.length,
      size_bytes: (cursor?.size_bytes ?? 0) + added,
      updated_at: context.now(),
    };
    await tx
      .insertInto('log_cursors')
      .values(values)
      .onConflict((conflict) => conflict.column('sandbox_id').doUpdateSet(values))
      .execute();
    const { maxBytesPerSandbox } = context.config.logs;
    if (values.size_bytes > maxBytesPerSandbox) await cut(tx, row, values.size_bytes, maxBytesPerSandbox);
  });
}

function toRows(
  row: SandboxRow,
  { entries, dropped }: LogPage,
  place: { firstSeq: number; earliest: number; latest: number },
): Insertable<SandboxLogsTable>[] {
  const all: Omit<LogEntry, 'seq'>[] =
    dropped === 0
      ? entries
      : [{ at: entries[0]?.at ?? place.latest, ...droppedByDaemon(dropped) }, ...entries];
  let before = place.earliest;
  return all.map((entry, index) => {
    before = Math.max(before, Math.min(entry.at, place.latest));
    return {
      sandbox_id: row.id,
      team_id: row.team_id,
      seq: place.firstSeq + index,
      at: before,
      level: levelRank(entry.level),
      // PostgreSQL has no NUL in text; in JSON it is an escape.
      message: entry.message.replaceAll('\0', '\uFFFD'),
      fields: toJson(entry.fields),
    };
  });
}

/**
 * Drops the oldest entries until the log is three quarters full, so that not every write has to. A marker replaces the last
 * dropped entry and says how many were dropped in all.
 */
async function cut(tx: Tx, { id }: SandboxRow, sizeBytes: number, maxBytes: number): Promise<void> {
  let left = sizeBytes;
  let dropped = 0;
  let last: { seq: number } | undefined;
  while (left > maxBytes * 0.75) {
    let query = tx
      .selectFrom('sandbox_logs')
      .select(['seq', 'fields', (build) => build.fn<number>('length', ['message']).as('size')])
      .where('sandbox_id', '=', id);
    if (last !== undefined) query = query.where('seq', '>', last.seq);
    const rows = await query.orderBy('seq').limit(CUT_STEP).execute();
    if (rows.length === 0) break;
    for (const row of rows) {
      left -= Number(row.size) + row.fields.length;
      dropped += countOfSizeMarker(row.fields) ?? 1;
      last = row;
      if (left <= maxBytes * 0.75) break;
    }
  }
  if (last === undefined) return;
  const { level, message, fields } = droppedBySize(dropped, maxBytes);
  await tx.deleteFrom('sandbox_logs').where('sandbox_id', '=', id).where('seq', '<', last.seq).execute();
  await tx
    .updateTable('sandbox_logs')
    .set({ level: levelRank(level), message, fields: toJson(fields) })
    .where('sandbox_id', '=', id)
    .where('seq', '=', last.seq)
    .execute();
  await tx
    .updateTable('log_cursors')
    .set({ size_bytes: Math.max(0, left) })
    .where('sandbox_id', '=', id)
    .execute();
}

/** An entry that the service itself writes into a sandbox's log in place of lines that were lost. */
type Marker = Pick<LogEntry, 'level' | 'message' | 'fields'>;

const lines = (count: number) => (count === 1 ? '1 line was' : `${count} lines were`);

/** Lines that the daemon had no room for before they were collected. */
function droppedByDaemon(count: number): Marker {
  return {
    level: 'warn',
    message: `[svc] ${lines(count)} dropped here: printed faster than the log is collected, with room for 1 MiB in between`,
    fields: { dropped: String(count), reason: 'rate' },
  };
}

/** Entries that were dropped because the log was full. */
function droppedBySize(count: number, maxBytes: number): Marker {
  return {
    level: 'warn',
    message: `[svc] ${lines(count)} dropped before this: the log of a sandbox keeps its latest ${maxBytes} bytes`,
    fields: { dropped: String(count), reason: 'size' },
  };
}

/** Returns the number of entries that a size marker stands for, by its stored fields; undefined for any other entry. */
function countOfSizeMarker(fields: Json<Record<string, string>>): number | undefined {
  if (!fields.includes('"reason":"size"')) return undefined;
  const { dropped, pid } = fromJson(fields);
  return pid === undefined && dropped !== undefined ? Number(dropped) : undefined;
}

export type Level = 'debug' | 'info' | 'warn' | 'error';

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** The weight of a level as it is stored; an unknown one counts as info. */
export function levelRank(level: string): number {
  const rank = LEVELS.indexOf(level as Level);
  return rank < 0 ? 1 : rank;
}

export function levelName(rank: number): Level {
  return LEVELS[rank] ?? 'info';
}
