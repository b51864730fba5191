import type { Database, Tx } from '../storage/schema.js';

export interface TemplateNames {
  /** Bare aliases. */
  aliases: string[];
  /** `namespace/alias`. */
  names: string[];
}

/** Returns the names of templates, by template id. A template without a name is not in the map. */
export async function namesOf(
  db: Database | Tx,
  templateIds: readonly string[],
): Promise<Map<string, TemplateNames>> {
  const result = new Map<string, TemplateNames>();
  if (templateIds.length === 0) return result;
  const rows = await db
    .selectFrom('template_aliases')
    .selectAll()
    .where('template_id', 'in', [...templateIds])
    .orderBy('created_at')
    .orderBy('alias')
    .orderBy('namespace', 'desc')
    .execute();
  for (const row of rows) {
    const entry = result.get(row.template_id) ?? { aliases: [], names: [] };
    result.set(row.template_id, entry);
    if (!entry.aliases.includes(row.alias)) entry.aliases.push(row.alias);
    if (row.namespace !== '') entry.names.push(`${row.namespace}/${row.alias}`);
  }
  return result;
}

export async function namesOfOne(db: Database | Tx, templateId: string): Promise<TemplateNames> {
  return (await namesOf(db, [templateId])).get(templateId) ?? { aliases: [], names: [] };
}
