import type { SandboxRowState } from '../../storage/schema.js';

export type RecoveryDecision = 'run' | 'keep-frozen' | 'keep-stored' | 'forget' | 'finish-kill' | 'orphaned';

/**
 * Decides about a sandbox whose server died while its row said `state`.
 * @param found `instance`: it lives, running or frozen. `checkpoint`: the stored state that the row names is whole.
 */
export function decideRecovery(found: {
  state: SandboxRowState;
  instance: boolean;
  checkpoint: boolean;
}): RecoveryDecision {
  const { state, instance, checkpoint } = found;
  switch (state) {
    // No client ever got its id.
    case 'creating':
      return 'forget';
    case 'killing':
      return 'finish-kill';
    case 'running':
    case 'snapshotting':
      return instance ? 'run' : 'orphaned';
    // The caller got no answer, but a complete checkpoint without an instance means that the pause succeeded.
    case 'pausing':
      return instance ? 'run' : checkpoint ? 'keep-stored' : 'orphaned';
    // No client knows of the start, so the stored state wins.
    case 'resuming':
    case 'paused':
      return checkpoint ? 'keep-stored' : instance ? 'keep-frozen' : 'orphaned';
  }
}
