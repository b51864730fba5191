import type { components } from '@svc/platform';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { cutPage, decodeNextToken } from '../api/wire/next-token.js';
import { parseTemplateReference } from '../sandboxes/records/template-reference.js';
import { afterKey } from '../storage/keyset.js';
import type { Uses } from './context.js';
import { findOwnTemplate, requireOwn } from './find-own.js';
import { namesOfOne } from './names.js';
import { buildOfTag } from './tag-rows.js';
import { templateWithBuildsToWire } from './wire.js';

/** A template with one page of its builds, newest first. @throws {ApiError} 400, 403, 404 */
export async function getTemplate(
  context: Uses<'db'>,
  team: Team,
  text: string,
  page: { limit?: number | undefined; nextToken?: string | undefined },
): Promise<{ headers: Record<string, string>; body: components['schemas']['TemplateWithBuilds'] }> {
  const after = decodeNextToken(page.nextToken);
  const template = await findOwnTemplate(context, team, text);
  const limit = page.limit ?? 100;
  let query = context.db.selectFrom('template_builds').selectAll().where('template_id', '=', template.id);
  if (after !== undefined)
    query = query.where(afterKey(after, { time: 'created_at', id: 'id' }, { time: 'desc', id: 'asc' }));
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'asc')
    .limit(limit + 1)
    .execute();
  const { rows: builds, headers } = cutPage(rows, limit, (row) => ({ atMs: row.created_at, id: row.id }));
  return {
    headers,
    body: templateWithBuildsToWire(template, builds, await namesOfOne(context.db, template.id)),
  };
}

/** The template behind a name. @throws {ApiError} 400; 404 free, or no such tag; 403 of another team */
export async function getAlias(
  context: Uses<'db'>,
  team: Team,
  text: string,
): Promise<components['schemas']['TemplateAlias']> {
  const reference = parseTemplateReference(text);
  const template = await requireOwn(context, team, reference, text);
  if (reference.tag !== undefined && (await buildOfTag(context.db, template.id, reference.tag)) === undefined)
    throw errors.templateTagNotFound(reference.tag, text);
  return { templateID: template.id, public: template.public === 1 };
}
