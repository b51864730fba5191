import type { Isolation } from '@svc/runtime/contract';
import type { Selectable } from 'kysely';
import type { TemplateBuildsTable, TemplatesTable } from '../../storage/schema.js';

/** The build that a reference to a template resolves to. */
export interface ResolvedTemplate {
  template: Selectable<TemplatesTable>;
  build: Selectable<TemplateBuildsTable>;
  alias: string | null;
  /** Isolation of its sandboxes. Undefined: the driver's own. */
  isolation: Isolation | undefined;
}

/**
 * The build as another team may use it: without the variables of the sandbox that it was taken of, and without that
 * sandbox's memory unless its team published it by name. Its files are what publishing is about.
 */
export function asSeenByOthers({ template, build, alias, isolation }: ResolvedTemplate): ResolvedTemplate {
  const memoryIsPrivate = build.definition === null && template.public_memory !== 1;
  return {
    template,
    build: {
      ...build,
      encrypted_env_vars: null,
      checkpoint_memory: memoryIsPrivate ? 0 : build.checkpoint_memory,
    },
    alias,
    isolation,
  };
}
