import { isoTime } from '../../api/wire/time.js';
import { fromJson } from '../../storage/json.js';
import type { SandboxRow } from '../state/live.js';
import type { LifecycleEvent, LifecycleEventType } from './sink.js';

export type KillReason =
  | 'unknown'
  | 'request'
  | 'timeout'
  | 'admin'
  | 'orphaned'
  | 'base_template_missing'
  | 'seal_failed'
  | 'resume_failed';

/** An event about a sandbox as its row stands. */
export function lifecycleEvent(
  type: LifecycleEventType,
  row: SandboxRow,
  data: Record<string, unknown> = {},
): LifecycleEvent {
  return {
    type,
    teamId: row.team_id,
    sandboxId: row.id,
    executionId: row.execution_id,
    templateId: row.template_id,
    buildId: row.build_id,
    data: {
      ...(row.metadata === null ? {} : { sandbox_metadata: fromJson(row.metadata) }),
      ...data,
    },
  };
}

/** Returns the data of killed and paused events about the run that ended. */
export function executionData(row: SandboxRow, endedAtMs: number): Record<string, unknown> {
  return {
    execution: {
      started_at: isoTime(row.started_at),
      vcpu_count: row.cpu_count,
      memory_mb: row.memory_mb,
      execution_time: Math.max(0, endedAtMs - row.started_at),
    },
  };
}
