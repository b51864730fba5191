import type { components } from '@svc/platform';
import type { Team } from '../api/auth/team.js';
import { errors } from '../api/errors/catalog.js';
import { parseTemplateReference } from '../sandboxes/records/template-reference.js';
import type { Uses } from './context.js';
import { requireOwn } from './find-own.js';
import { buildOfTag } from './tag-rows.js';

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
