import type { Selectable } from 'kysely';
import type { Team } from '../../api/auth/team-store.js';
import type { Database, TemplatesTable, Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import type { TemplateReference } from './template-reference.js';

export type TemplateRow = Selectable<TemplatesTable>;

/**
 * Finds the template that a name means for a team: an alias in the team's namespace, then a promoted alias, then an
 * identifier. With a namespace, only there. Says nothing about whether the team may use it.
 */
export async function findTemplate(
  context: Uses<'db'>,
  team: Pick<Team, 'slug'>,
  reference: TemplateReference,
): Promise<TemplateRow | undefined> {
  const namespaces = reference.namespace === undefined ? [team.slug, ''] : [reference.namespace];
  const named = await context.db
    .selectFrom('template_aliases')
    .innerJoin('templates', 'templates.id', 'template_aliases.template_id')
    .selectAll('templates')
    .select('template_aliases.namespace as alias_namespace')
    .where('template_aliases.alias', '=', reference.alias)
    .where('template_aliases.namespace', 'in', namespaces)
    .execute();
  const best = named.find((row) => row.alias_namespace !== '') ?? named[0];
  if (best !== undefined) {
    const { alias_namespace: _, ...template } = best;
    return template;
  }
  if (reference.namespace !== undefined) return undefined;
  return context.db.selectFrom('templates').selectAll().where('id', '=', reference.alias).executeTakeFirst();
}

/** The first alias of a template. */
export async function firstAlias(context: Uses<'db'>, templateId: string): Promise<string | null> {
  const row = await context.db
    .selectFrom('template_aliases')
    .select('alias')
    .where('template_id', '=', templateId)
    .orderBy('created_at')
    .orderBy('alias')
    .executeTakeFirst();
  return row?.alias ?? null;
}

/** Templates that exist from the first start. They belong to the service: no team changes them. */
const SYSTEM_ALIASES = ['base', 'host'];

/** Name of a template that is the service's own; undefined: it is a team's. */
export async function systemAlias(db: Database | Tx, templateId: string): Promise<string | undefined> {
  const found = await db
    .selectFrom('template_aliases')
    .select('alias')
    .where('namespace', '=', '')
    .where('alias', 'in', SYSTEM_ALIASES)
    .where('template_id', '=', templateId)
    .executeTakeFirst();
  return found?.alias;
}
