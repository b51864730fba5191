import type { RoundContext } from './context.js';
import type { SyncEvent } from './events.js';
import type { LocalRoot } from './local/local-root.js';
import type { Action } from './plan/action.js';

/** The operations that change the two sides. */
export interface Application {
  readonly root: LocalRoot;
  readonly context: RoundContext;
  readonly actions: readonly Action[];
  /** Takes the actions that were done. */
  readonly done: Set<Action>;
}

/** Returns true when a file gets another mode and keeps its content. */
export function onlyMode(action: Action): boolean {
  return (
    action.kind === 'write' &&
    action.entry.type === 'file' &&
    action.replaces?.type === 'file' &&
    action.replaces.digest === action.entry.digest
  );
}

/** Reports an action that was done. */
export function announce(action: Action, emit: (event: SyncEvent) => void): void {
  if (action.kind === 'conflict') {
    const { path, kept, copy } = action;
    emit({ type: 'conflict', path, kept, copy });
    return;
  }
  const { side } = action;
  if (action.kind === 'write') {
    const { path, entry, replaces, source } = action;
    emit({
      type: 'change',
      side,
      action: replaces === undefined ? 'create' : 'update',
      kind: entry.type,
      path,
      from: undefined,
      sizeBytes: source?.sizeBytes ?? 0,
    });
    return;
  }
  const kind = action.found.type;
  if (action.kind === 'rename')
    emit({ type: 'change', side, action: 'rename', kind, path: action.to, from: action.path, sizeBytes: 0 });
  else
    emit({ type: 'change', side, action: 'delete', kind, path: action.path, from: undefined, sizeBytes: 0 });
}

/** The mode of a file that is written: who may read it may execute it, or nobody may. */
export function fileMode(executable: boolean, mode: number): number {
  return executable ? mode | 0o100 | ((mode & 0o044) >> 2) : mode & 0o666;
}
