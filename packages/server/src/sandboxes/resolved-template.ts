import type { Selectable } from 'kysely';
import type { TemplateBuildsTable, TemplatesTable } from '../storage/schema.js';

/** What a reference to a template means: the build that a sandbox is made of. */
export interface ResolvedTemplate {
  template: Selectable<TemplatesTable>;
  build: Selectable<TemplateBuildsTable>;
  alias: string | null;
}
