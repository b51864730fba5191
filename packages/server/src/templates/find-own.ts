import type { Team } from '../api/auth/team-store.js';
import type { ApiError } from '../api/errors/api-error.js';
import { errors } from '../api/errors/catalog.js';
import { findTemplate, systemAlias, type TemplateRow } from '../sandboxes/records/find-template.js';
import { parseTemplateReference, type TemplateReference } from '../sandboxes/records/template-reference.js';
import type { Database, Tx } from '../storage/schema.js';
import type { Uses } from './context.js';

/**
 * Finds a template of the team by id or name.
 * @param text as in a path; a tag is allowed and means nothing here.
 * @throws {ApiError} 400 bad syntax; 404 unknown, or another team's; 403 another team's that is public
 */
export async function findOwnTemplate(context: Uses<'db'>, team: Team, text: string): Promise<TemplateRow> {
  return requireOwn(context, team, parseTemplateReference(text), text);
}

/** As `findOwnTemplate`, with a parsed name. */
export async function requireOwn(
  context: Uses<'db'>,
  team: Team,
  reference: TemplateReference,
  text: string,
): Promise<TemplateRow> {
  const template = await findTemplate(context, team, reference);
  if (template === undefined) throw errors.templateNotFound(text);
  if (template.team_id !== team.id) throw foreign(template, text);
  return template;
}

/** A private template of another team is treated as missing: its existence is not revealed. */
function foreign(template: TemplateRow, text: string): ApiError {
  return template.public === 1 ? errors.templateForbidden() : errors.templateNotFound(text);
}

/** As `findOwnTemplate`, for changes. @throws {ApiError} 403 for the service's own too */
export async function findOwnForChange(context: Uses<'db'>, team: Team, text: string): Promise<TemplateRow> {
  const template = await findOwnTemplate(context, team, text);
  await refuseSystem(context.db, template.id);
  return template;
}

/** @throws {ApiError} 403 when the template is the service's own */
export async function refuseSystem(db: Database | Tx, templateId: string): Promise<void> {
  if ((await systemAlias(db, templateId)) !== undefined) throw errors.templateSystem();
}
