import type { Team } from '../../api/auth/team.js';
import { errors } from '../../api/errors/catalog.js';
import { isUuid } from '../../api/wire/ids.js';
import type { Uses } from '../context.js';
import { findOwnTemplate } from '../find-own.js';
import type { BuildRow } from '../wire.js';

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
