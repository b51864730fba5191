import { takenMode } from '@svc/sdk/local-trees';
import { type Application, announce, fileMode, onlyMode } from './application.js';
import {
  Changed,
  chmodLocal,
  deleteLocal,
  linkLocal,
  makeLocalDirectory,
  removeLocalDirectory,
  renameLocal,
} from './local/change-local.js';
import { hasCode } from './local/local-root.js';
import type { Action } from './plan/action.js';
import { fetchFiles, type Wanted } from './remote/download.js';

/** Makes the changes of the local side. Those for which the tree has changed meanwhile are left to the next round. */
export async function applyLocally({ root, context, actions, done }: Application): Promise<void> {
  const { remote, signal, emit, settings } = context;
  const mine = actions.filter((action) => action.kind !== 'conflict' && action.side === 'local');
  const files = new Map<string, Action>();
  const wanted: Wanted[] = [];
  for (const action of [...mine].sort((a, b) => rank(a) - rank(b))) {
    signal.throwIfAborted();
    const file = wantedOf(action);
    if (file !== undefined) {
      files.set(file.path, action);
      wanted.push(file);
    } else await attempt(action, () => change(action));
  }
  if (wanted.length === 0) return;
  const totalBytes = wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  let bytes = 0;
  await fetchFiles(root, remote, wanted, {
    signal,
    onBytes: (count) => {
      bytes += count;
      emit({ type: 'progress', side: 'local', bytes, totalBytes });
    },
    onFile: (path, error) => {
      const action = files.get(path);
      if (action === undefined) return;
      if (error === undefined) finish(action);
      else fail(path, error);
    },
  });

  async function attempt(action: Action, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      finish(action);
    } catch (error) {
      fail(action.path, error);
    }
  }

  function finish(action: Action): void {
    done.add(action);
    announce(action, emit);
  }

  /** A refusal of the disk as a whole ends the round; a refusal of one path is reported, and the path is left. */
  function fail(path: string, error: unknown): void {
    if (error instanceof Changed || hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return;
    if (hasCode(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE')) throw error;
    const reason = error instanceof Error ? error.message.replace(/ '.*$/, '') : String(error);
    const key = `local ${path} ${reason}`;
    if (settings.told.has(key)) return;
    settings.told.add(key);
    emit({ type: 'skipped', side: 'local', path, reason });
  }

  async function change(action: Action): Promise<void> {
    const { path } = action;
    if (action.kind === 'delete') {
      if (action.found.type === 'directory') return removeLocalDirectory(root, path);
      return deleteLocal(root, path, action.found.fingerprint);
    }
    if (action.kind === 'rename') return renameLocal(root, path, action.to, action.found.fingerprint);
    if (action.kind !== 'write') return;
    const { entry, replaces } = action;
    if (entry.type === 'directory') return makeLocalDirectory(root, path);
    if (entry.type === 'symlink') return linkLocal(root, path, entry.target, replaces?.fingerprint);
    if (replaces !== undefined)
      return chmodLocal(root, path, fileMode(entry.executable, replaces.mode), replaces.fingerprint);
  }
}

function wantedOf(action: Action): Wanted | undefined {
  if (action.kind !== 'write' || action.entry.type !== 'file' || onlyMode(action)) return undefined;
  const { path, entry, source, replaces } = action;
  if (source?.type !== 'file') return undefined;
  const { digest, sizeBytes, modifiedMs } = source;
  // A new file is the user's own: others get no right to write it, with any mode in the sandbox.
  const mode = replaces?.type === 'file' ? replaces.mode : takenMode(source.mode) | 0o600;
  return {
    path,
    digest,
    sizeBytes,
    modifiedMs,
    mode: fileMode(entry.executable, mode),
    expected: replaces?.fingerprint,
  };
}

/** The order in which kinds of changes can be made; files that are fetched come last. */
function rank(action: Action): number {
  if (action.kind === 'delete') return action.found.type === 'directory' ? 3 : 0;
  if (action.kind === 'rename') return 2;
  return action.kind === 'write' && action.entry.type === 'directory' ? 1 : 4;
}
