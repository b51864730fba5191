import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import type { ServerContext } from '../context.js';
import type { SandboxLogsTable } from '../storage/schema.js';
import { isoTime } from '../wire/time.js';
import { collectLogs } from './collect-logs.js';
import { type Level, levelName, levelRank } from './levels.js';

export interface ReadLogsOptions {
  teamId: string;
  sandboxId: string;
  /** Where to start, ms since the epoch. */
  cursorMs?: number | undefined;
  limit: number;
  direction: 'forward' | 'backward';
  level?: Level | undefined;
  search?: string | undefined;
}

/** Reads stored logs, after taking over what a running sandbox printed last. Unknown sandboxes have none. */
export async function readLogs(
  context: ServerContext,
  options: ReadLogsOptions,
): Promise<components['schemas']['SandboxLogEntry'][]> {
  const live = context.sandboxes.get(options.sandboxId);
  if (live?.instance !== undefined && live.row.team_id === options.teamId && live.row.state === 'running')
    await collectLogs(context, live, { timeoutMs: 2_000 }).catch((error: unknown) => {
      context.log.debug({ err: error, sandboxId: live.row.id }, 'the last logs could not be fetched');
    });
  if (options.limit === 0) return [];
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
    .where('at', '>=', from)
    .where('at', '<=', to);
  if (options.level !== undefined) query = query.where('level', '>=', levelRank(options.level));
  if (options.search !== undefined && options.search !== '') {
    // LIKE ignores case in SQLite, so both dialects look for the position instead.
    const position = context.dialect === 'postgres' ? 'strpos' : 'instr';
    query = query.where((build) =>
      build(build.fn<number>(position, ['message', build.val(options.search)]), '>', 0),
    );
  }
  const direction = forward ? 'asc' : 'desc';
  const rows = await query.orderBy('at', direction).orderBy('seq', direction).limit(options.limit).execute();
  return rows.map(logToWire);
}

export function logToWire(row: Selectable<SandboxLogsTable>): components['schemas']['SandboxLogEntry'] {
  return {
    timestamp: isoTime(row.at),
    level: levelName(row.level),
    message: row.message,
    fields: JSON.parse(row.fields) as Record<string, string>,
  };
}
