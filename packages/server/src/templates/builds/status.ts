import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team.js';
import { fromJson } from '../../storage/json.js';
import type { Uses } from '../context.js';
import { findBuild } from './find.js';
import { diagnosticsOf, entriesByTime, entriesFrom } from './log-entries.js';

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
