import type { Insertable } from 'kysely';
import { toJson } from './json.js';
import type { TemplateBuildsTable, TemplatesTable } from './schema.js';

type BuildRow = Insertable<TemplateBuildsTable>;
type TemplateRow = Insertable<TemplatesTable>;

/** The row of a new template with its first build, private and never used. */
export function newTemplateRow(
  given: Pick<TemplateRow, 'id' | 'team_id' | 'kind' | 'created_at'> & Partial<TemplateRow>,
): TemplateRow {
  return {
    public: 0,
    public_memory: 0,
    source_sandbox_id: null,
    updated_at: given.created_at,
    last_spawned_at: null,
    spawn_count: 0,
    build_count: 1,
    ...given,
  };
}

/** The row of a new build that nothing was done for yet: on the driver's base, without variables, users or commands. */
export function newBuildRow(
  given: Pick<
    BuildRow,
    'id' | 'template_id' | 'team_id' | 'status' | 'cpu_count' | 'memory_mb' | 'disk_mb' | 'created_at'
  > &
    Partial<BuildRow>,
): BuildRow {
  return {
    version: 1,
    envd_version: null,
    layers: toJson([]),
    checkpoint_id: null,
    checkpoint_memory: 0,
    source_sandbox_id: null,
    node_id: null,
    env_vars: toJson({}),
    encrypted_env_vars: null,
    default_user: null,
    default_workdir: null,
    start_command: null,
    ready_command: null,
    definition: null,
    reason: null,
    updated_at: given.created_at,
    finished_at: null,
    ...given,
  };
}
