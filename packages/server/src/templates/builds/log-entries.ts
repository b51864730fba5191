import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import { isoTime } from '../../api/wire/time.js';
import { levelName, levelRank } from '../../sandboxes/telemetry/levels.js';
import type { BuildLogsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';

type WireEntry = components['schemas']['BuildLogEntry'];
type Level = components['schemas']['LogLevel'];

function toWire(row: Selectable<BuildLogsTable>): WireEntry {
  return {
    timestamp: isoTime(row.at),
    message: row.message,
    level: levelName(row.level),
    ...(row.step === null ? {} : { step: row.step }),
  };
}

/** Entries in order, from an offset that counts what is left by the level. */
export async function entriesFrom(
  context: Uses<'db'>,
  buildId: string,
  options: { offset: number; limit: number; level?: Level | undefined },
): Promise<WireEntry[]> {
  if (options.limit === 0) return [];
  const rows = await context.db
    .selectFrom('build_logs')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('level', '>=', levelRank(options.level ?? 'debug'))
    .orderBy('seq')
    .offset(options.offset)
    .limit(options.limit)
    .execute();
  return rows.map(toWire);
}

/** Entries from a time on, in one direction. */
export async function entriesByTime(
  context: Uses<'db'>,
  buildId: string,
  options: {
    cursorMs?: number | undefined;
    limit: number;
    direction: 'forward' | 'backward';
    level?: Level | undefined;
  },
): Promise<WireEntry[]> {
  if (options.limit === 0) return [];
  const forward = options.direction === 'forward';
  let query = context.db
    .selectFrom('build_logs')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('level', '>=', levelRank(options.level ?? 'debug'));
  if (options.cursorMs !== undefined) query = query.where('at', forward ? '>=' : '<=', options.cursorMs);
  const rows = await query
    .orderBy('at', forward ? 'asc' : 'desc')
    .orderBy('seq', forward ? 'asc' : 'desc')
    .limit(options.limit)
    .execute();
  return rows.map(toWire);
}

/** Warnings and errors of a step: entries of level `warn` and above, the first hundred. */
export async function diagnosticsOf(
  context: Uses<'db'>,
  buildId: string,
  step: string,
): Promise<WireEntry[]> {
  const rows = await context.db
    .selectFrom('build_logs')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('step', '=', step)
    .where('level', '>=', levelRank('warn'))
    .orderBy('seq')
    .limit(100)
    .execute();
  return rows.map(toWire);
}
