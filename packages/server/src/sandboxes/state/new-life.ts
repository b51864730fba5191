import type { Uses } from '../../api/context/context.js';
import type { SandboxRow } from './live.js';

/** What the record of a sandbox says that is about to start for the first time, whatever it is made from. */
export function newLife(context: Uses<'ids' | 'now'>, timeoutSeconds: number) {
  const now = context.now();
  return {
    id: context.ids.sandboxId(),
    execution_id: context.ids.uuid(),
    state: 'creating',
    view: 'hidden',
    version: 1,
    instance_id: null,
    checkpoint_id: null,
    paused_memory: 0,
    daemon_generation: 0,
    created_at: now,
    started_at: now,
    end_at: now + timeoutSeconds * 1000,
    paused_at: null,
    timeout_seconds: timeoutSeconds,
  } satisfies Partial<SandboxRow>;
}
