import type { components } from '@svc/platform';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { isoTime } from '../api/wire/time.js';
import { DEFAULT_TAG, parseTemplateReference } from '../sandboxes/records/template-reference.js';
import type { Uses } from './context.js';
import { findOwnForChange, findOwnTemplate } from './find-own.js';
import { normalizeTags } from './own-reference.js';
import { buildOfTag, currentTags, putTags } from './tag-rows.js';

/**
 * Points tags to the build that `target` names; tags that exist move.
 * @throws {ApiError} 400, 403, 404
 */
export async function assignTags(
  context: Uses<'db' | 'now'>,
  team: Team,
  request: components['schemas']['AssignTemplateTagsRequest'],
): Promise<components['schemas']['AssignedTemplateTags']> {
  const tags = normalizeTags(request.tags);
  const tag = parseTemplateReference(request.target).tag ?? DEFAULT_TAG;
  const template = await findOwnForChange(context, team, request.target);
  const buildId = await buildOfTag(context.db, template.id, tag);
  if (buildId === undefined) throw errors.templateTagNotFound(tag, request.target);
  await context.db.transaction().execute(async (tx) => {
    await putTags(tx, template.id, buildId, tags, context.now());
    await tx
      .updateTable('templates')
      .set({ updated_at: context.now() })
      .where('id', '=', template.id)
      .execute();
  });
  return { tags, buildID: buildId };
}

/** Removes tags; builds stay, unknown tags are ignored. @throws {ApiError} 400, 403, 404 */
export async function deleteTags(
  context: Uses<'db'>,
  team: Team,
  request: components['schemas']['DeleteTemplateTagsRequest'],
): Promise<void> {
  if (request.name.includes(':')) throw errors.badRequest('name must not carry a tag');
  const tags = normalizeTags(request.tags);
  if (tags.includes(DEFAULT_TAG)) throw errors.badRequest(`the tag '${DEFAULT_TAG}' cannot be removed`);
  const template = await findOwnForChange(context, team, request.name);
  await context.db
    .deleteFrom('template_tags')
    .where('template_id', '=', template.id)
    .where('tag', 'in', tags)
    .execute();
}

/** Every tag with the build it points to, the newest assignment first. @throws {ApiError} 400, 403, 404 */
export async function listTags(
  context: Uses<'db'>,
  team: Team,
  templateText: string,
): Promise<components['schemas']['TemplateTag'][]> {
  const template = await findOwnTemplate(context, team, templateText);
  const tags = await currentTags(context.db, template.id);
  return tags.map((row) => ({ tag: row.tag, buildID: row.build_id, createdAt: isoTime(row.created_at) }));
}
