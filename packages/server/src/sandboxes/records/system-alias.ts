import type { Database, Tx } from '../../storage/schema.js';

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
