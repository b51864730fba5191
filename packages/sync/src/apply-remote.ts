import { ServerError } from '@svc/sdk';
import { type Application, announce, fileMode, onlyMode } from './application.js';
import type { Action } from './plan/action.js';
import { parentOf } from './plan/tree.js';
import { commitScript, failedSteps, type RemoteStep } from './remote/commit-script.js';
import { once, readScript } from './remote/remote-shell.js';
import { type Staged, stageFiles } from './remote/upload.js';
import { draftName } from './rules/names.js';

/** Reads the steps from its standard input, all of them before the first is taken. */
const runSteps = `cd -- "$1" && s=$(cat) && eval "$s"`;
/** Longest answer: the numbers of all steps that failed. */
const longestAnswer = 16 * 1024 * 1024;

/** Makes the changes of the remote side: content is staged first, then everything is put in its place. */
export async function applyRemotely({ root, context, actions, done }: Application): Promise<void> {
  const { remote, signal, emit } = context;
  const mine = actions.filter((action) => action.kind === 'conflict' || action.side === 'remote');
  if (mine.length === 0) return;
  const stage = draftName();
  const staged = mine.flatMap(stagedOf);
  const totalBytes = staged.reduce((sum, entry) => sum + ('sizeBytes' in entry ? entry.sizeBytes : 0), 0);
  let bytes = 0;
  const onBytes = (count: number) => {
    bytes += count;
    emit({ type: 'progress', side: 'remote', bytes, totalBytes });
  };
  const stale =
    staged.length === 0
      ? new Set<string>()
      : await stageFiles(root, remote, staged, { stage, signal, onBytes });
  const ordered = mine
    .map((action) => ({ action, step: stepOf(action) }))
    .filter((item): item is { action: Action; step: RemoteStep } => item.step !== undefined)
    .filter(({ step }) => !((step.kind === 'create' || step.kind === 'replace') && stale.has(step.path)))
    .sort(inOrder);
  const steps = ordered.map(({ step }) => step);
  const cleanUp = staged.length === 0 ? '' : `rm -rf -- ./${stage}\n`;
  const script = new TextEncoder().encode(commitScript(steps, stage) + cleanUp);
  const run = { script: runSteps, args: [remote.path], input: once(script), user: remote.user, signal };
  const failed = failedSteps(await readScript(remote.sandbox, run, longestAnswer));
  if (failed === undefined)
    throw new ServerError('sync: changes in the sandbox broke off before their end.', { operation: 'sync' });
  for (const action of mine) if (action.kind === 'conflict' && action.copy === undefined) finish(action);
  for (const [index, { action }] of ordered.entries()) if (!failed.has(index)) finish(action);

  function finish(action: Action): void {
    done.add(action);
    announce(action, emit);
  }
}

function stagedOf(action: Action): Staged[] {
  if (action.kind !== 'write' || action.entry.type === 'directory' || onlyMode(action)) return [];
  const { path, entry, source, replaces } = action;
  if (entry.type === 'symlink') return [{ path, type: 'symlink', target: entry.target }];
  if (source?.type !== 'file') return [];
  const { digest, sizeBytes, modifiedMs } = source;
  const mode = fileMode(entry.executable, replaces?.type === 'file' ? replaces.mode : source.mode);
  return [{ path, type: 'file', digest, sizeBytes, mode, modifiedMs }];
}

function stepOf(action: Action): RemoteStep | undefined {
  const { path } = action;
  switch (action.kind) {
    case 'conflict':
      if (action.copy === undefined) return undefined;
      return {
        kind: 'move',
        path,
        to: action.copy,
        // Of a directory only its own entry could be compared, which says nothing of what is in it.
        fingerprint: action.found?.type === 'directory' ? undefined : action.found?.fingerprint,
      };
    case 'rename':
      return { kind: 'move', path, to: action.to, fingerprint: action.found.fingerprint };
    case 'delete':
      if (action.found.type === 'directory') return { kind: 'remove-directory', path };
      return { kind: 'delete', path, fingerprint: action.found.fingerprint };
    case 'write': {
      const { entry, replaces } = action;
      if (entry.type === 'directory') return { kind: 'make-directory', path };
      if (replaces === undefined) return { kind: 'create', path };
      if (onlyMode(action) && entry.type === 'file')
        return { kind: 'chmod', path, fingerprint: replaces.fingerprint, executable: entry.executable };
      return { kind: 'replace', path, fingerprint: replaces.fingerprint };
    }
  }
}

/** The order in which kinds of steps can be taken. */
const order = ['delete', 'make-directory', 'move', 'remove-directory', 'create', 'replace', 'chmod'];

/** Conflicts first; what is written in one directory comes together. */
function inOrder(a: { action: Action; step: RemoteStep }, b: { action: Action; step: RemoteStep }): number {
  const rank = ({ action, step }: typeof a) => (action.kind === 'conflict' ? -1 : order.indexOf(step.kind));
  if (rank(a) !== rank(b) || !(a.step.kind === 'create' || a.step.kind === 'replace'))
    return rank(a) - rank(b);
  const [left, right] = [parentOf(a.step.path), parentOf(b.step.path)];
  return left === right ? 0 : left < right ? -1 : 1;
}
