import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import { errors } from '../../api/errors/catalog.js';
import { isoTime } from '../../api/wire/time.js';
import { fromJson } from '../../storage/json.js';
import type { SandboxLogsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { collectLogs } from './collect-logs.js';
import { type Level, levelName, levelRank } from './store-logs.js';

export interface ReadLogsOptions {
  teamId: string;
  sandboxId: string;
  /** The start, ms since the epoch. */
  cursorMs?: number | undefined;
  /** The start instead: after the last entry of an earlier page, in the direction of reading. */
  nextToken?: string | undefined;
  limit: number;
  direction: 'forward' | 'backward';
  level?: Level | undefined;
  search?: string | undefined;
}

export interface LogsRead {
  entries: components['schemas']['SandboxLogEntry'][];
  /** The position of the last entry; without entries the requested position, if there was one. */
  nextToken: string | undefined;
}

/**
 * Reads stored logs, after it has collected the latest output of a running sandbox. Unknown sandboxes have none.
 * @throws {ApiError} 400 for a token that cannot be read
 */
export async function readLogs(
  context: Uses<'config' | 'db' | 'dialect' | 'keys' | 'log' | 'now' | 'sandboxes'>,
  options: ReadLogsOptions,
): Promise<LogsRead> {
  const behind = decodeLogToken(options.nextToken);
  const live = context.sandboxes.get(options.sandboxId);
  if (live?.instance !== undefined && live.row.team_id === options.teamId && live.row.state === 'running')
    await collectLogs(context, live, { timeoutMs: 2_000 }).catch((error: unknown) => {
      context.log.debug({ err: error, sandboxId: live.row.id }, 'the last logs could not be fetched');
    });
  if (options.limit === 0) return { entries: [], nextToken: options.nextToken || undefined };
  const now = context.now();
  const span = context.config.logs.retentionMs;
  const oldest = now - span;
  const forward = options.direction === 'forward';
  const from = forward
    ? Math.max(options.cursorMs ?? oldest, oldest)
    : Math.max((options.cursorMs ?? now) - span, oldest);
  const to = forward ? from + span : (options.cursorMs ?? Number.MAX_SAFE_INTEGER);
  let query = context.db
    .selectFrom('sandbox_logs')
    .selectAll()
    .where('sandbox_id', '=', options.sandboxId)
    .where('team_id', '=', options.teamId)
    .where('at', '>=', behind === undefined ? from : oldest);
  query =
    behind === undefined ? query.where('at', '<=', to) : query.where('seq', forward ? '>' : '<', behind);
  if (options.level !== undefined) query = query.where('level', '>=', levelRank(options.level));
  if (options.search !== undefined && options.search !== '') {
    // LIKE ignores case in SQLite, so both dialects look for the position instead.
    const position = context.dialect === 'postgres' ? 'strpos' : 'instr';
    query = query.where((build) =>
      build(build.fn<number>(position, ['message', build.val(options.search)]), '>', 0),
    );
  }
  const direction = forward ? 'asc' : 'desc';
  // Times never decrease with the number, so both orders are the same, and the primary key serves an order by number.
  const ordered = behind === undefined ? query.orderBy('at', direction) : query;
  const rows = await ordered.orderBy('seq', direction).limit(options.limit).execute();
  const last = rows.at(-1);
  return {
    entries: rows.map(logToWire),
    nextToken: last === undefined ? options.nextToken || undefined : encodeLogToken(last.seq),
  };
}

/** The number of an entry among those of its sandbox, finer than any time. */
function encodeLogToken(seq: number): string {
  return Buffer.from(`log:${seq}`).toString('base64url');
}

function decodeLogToken(token: string | undefined): number | undefined {
  if (token === undefined || token === '') return undefined;
  const seq = /^log:(\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString('utf8'))?.[1];
  if (seq === undefined) throw errors.invalidNextToken();
  return Number(seq);
}

export function logToWire(row: Selectable<SandboxLogsTable>): components['schemas']['SandboxLogEntry'] {
  return {
    timestamp: isoTime(row.at),
    level: levelName(row.level),
    message: row.message,
    fields: fromJson(row.fields),
  };
}
