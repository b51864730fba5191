import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { isUuid } from '../../api/wire/ids.js';
import { isoTime } from '../../api/wire/time.js';
import { levelName, levelRank } from '../../sandboxes/telemetry/store-logs.js';
import { fromJson } from '../../storage/json.js';
import type { BuildLogsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { findOwnTemplate } from '../find-own.js';
import type { BuildRow } from '../wire.js';

type Level = components['schemas']['LogLevel'];

/** The status of a build with log entries from an offset on. @throws {ApiError} 400, 403, 404 */
export async function buildStatus(
  context: Uses<'db'>,
  team: Team,
  templateText: string,
  buildId: string,
  query: { logsOffset?: number | undefined; limit?: number | undefined; level?: Level | undefined },
): Promise<components['schemas']['TemplateBuildInfo']> {
  const build = await findBuild(context, team, templateText, buildId);
  const stored = build.reason === null ? undefined : fromJson(build.reason);
  return {
    logs: [],
    logEntries:
      build.status === 'waiting'
        ? []
        : await entriesFrom(context, build.id, {
            offset: query.logsOffset ?? 0,
            limit: query.limit ?? 100,
            level: query.level,
          }),
    templateID: build.template_id,
    buildID: build.id,
    status: build.status,
    ...(stored === undefined
      ? {}
      : {
          reason: {
            ...stored,
            ...(stored.step === undefined
              ? {}
              : { logEntries: await diagnosticsOf(context, build.id, stored.step) }),
          },
        }),
  };
}

/** Log entries of a build by time. @throws {ApiError} 400, 403, 404 */
export async function buildLogs(
  context: Uses<'db'>,
  team: Team,
  templateText: string,
  buildId: string,
  query: {
    cursor?: number | undefined;
    limit?: number | undefined;
    direction?: 'forward' | 'backward' | undefined;
    level?: Level | undefined;
    source?: 'temporary' | 'persistent' | undefined;
  },
): Promise<components['schemas']['TemplateBuildLogs']> {
  const build = await findBuild(context, team, templateText, buildId);
  const finished = build.finished_at !== null;
  if (build.status === 'waiting' || (query.source === 'temporary' && finished)) return { logs: [] };
  return {
    logs: await entriesByTime(context, build.id, {
      cursorMs: query.cursor,
      limit: query.limit ?? 100,
      direction: query.direction ?? 'forward',
      level: query.level,
    }),
  };
}

/** A build of a template of the team. @throws {ApiError} 400 no UUID; 404; 403 of another team */
export async function findBuild(
  context: Uses<'db'>,
  team: Team,
  templateText: string,
  buildId: string,
): Promise<BuildRow> {
  if (!isUuid(buildId)) throw errors.invalidBuildId();
  const template = await findOwnTemplate(context, team, templateText);
  const build = await context.db
    .selectFrom('template_builds')
    .selectAll()
    .where('id', '=', buildId.toLowerCase())
    .where('template_id', '=', template.id)
    .executeTakeFirst();
  if (build === undefined) throw errors.buildNotFound(buildId);
  return build;
}

type WireEntry = components['schemas']['BuildLogEntry'];

function toWire(row: Selectable<BuildLogsTable>): WireEntry {
  return {
    timestamp: isoTime(row.at),
    message: row.message,
    level: levelName(row.level),
    ...(row.step === null ? {} : { step: row.step }),
  };
}

/** Entries in order, from an offset that counts what is left by the level. */
async function entriesFrom(
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
async function entriesByTime(
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
async function diagnosticsOf(context: Uses<'db'>, buildId: string, step: string): Promise<WireEntry[]> {
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
