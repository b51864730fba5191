import type { Insertable } from 'kysely';
import type { SandboxesTable } from '../../src/storage/schema.js';

type Row = Insertable<SandboxesTable>;

/** A row of `sandboxes` with nothing of its own but what is given. */
export function sandboxRow(given: Pick<Row, 'id' | 'team_id' | 'state'> & Partial<Row>): Row {
  return {
    ...{ template_id: 't', build_id: 'b', execution_id: 'e', alias: null, view: 'running', version: 1 },
    ...{ node_id: 'n', instance_id: null, checkpoint_id: null, paused_memory: 0, daemon_generation: 0 },
    ...{ created_at: 0, started_at: 0, end_at: 0, paused_at: null, timeout_seconds: 1, cpu_count: 1 },
    ...{ memory_mb: 1, disk_mb: 1, envd_version: '0', metadata: null, encrypted_secrets: null },
    config: '{}' as never,
    ...given,
  };
}
