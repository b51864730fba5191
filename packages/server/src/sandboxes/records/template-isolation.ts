import type { Isolation } from '@svc/runtime';
import type { Uses } from '../context.js';
import { systemAlias } from './system-alias.js';

/** What the settings say is to keep the sandboxes of a template apart. Undefined: nothing, so the driver decides. */
export async function isolationOf(
  { config, db }: Uses<'config' | 'db'>,
  templateId: string,
): Promise<Isolation | undefined> {
  const { templateIsolation } = config;
  if (Object.keys(templateIsolation).length === 0) return undefined;
  // Only names of the service's own: a team could call a template of its own like another's.
  const alias = await systemAlias(db, templateId);
  return templateIsolation[templateId] ?? (alias === undefined ? undefined : templateIsolation[alias]);
}
