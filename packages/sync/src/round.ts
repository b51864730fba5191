import { mkdir } from 'node:fs/promises';
import { FileNotFoundError, InvalidRequestError } from '@svc/sdk';
import { applyLocally } from './apply-local.js';
import { applyRemotely } from './apply-remote.js';
import type { RoundContext } from './context.js';
import { SyncStoppedError } from './errors.js';
import { hasCode, LocalRoot } from './local/local-root.js';
import { scanLocal } from './local/scan-local.js';
import type { Action, Side } from './plan/action.js';
import type { Plan } from './plan/input.js';
import { plan } from './plan/plan.js';
import { ancestorsOf, type Entry, nameOf, parentOf } from './plan/tree.js';
import { scanRemote } from './remote/scan-remote.js';
import type { Scan } from './scan.js';

/** The outcome of a round. */
export interface RoundResult {
  /** Changes that were made. */
  readonly changes: number;
  /** Paths that are not equal yet, as far as this look shows; empty when nothing is left to be done. */
  readonly unsettled: readonly string[];
  readonly scans: { readonly local: Scan; readonly remote: Scan };
}

/** Looks at both sides, compares them with what they had in common, and brings them together. */
export async function runRound(context: RoundContext): Promise<RoundResult> {
  const { settings, memory, remote, exclusions, signal, emit } = context;
  const root = await openLocal(context);
  try {
    const { limits } = settings;
    const look = { exclusions, limits, signal };
    const [local, other] = await Promise.all([
      scanLocal({ ...look, root, known: memory.local }),
      scanOrMake(context, () => scanRemote({ ...look, root: remote, known: memory.remote })),
    ]);
    memory.local = local.digests;
    memory.remote = other.digests;
    refuseEmptied(context, local, other);
    const blocked = collectBlocked(context, local, other);
    const isFree = (path: string) =>
      !blocked.has(path) && !ancestorsOf(path).some((above) => blocked.has(above));
    const planned = planRound(context, local, other, isFree);
    for (const [path, entry] of memory.base) if (!isFree(path)) planned.base.set(path, entry);
    memory.base = planned.base;
    const done = new Set<Action>();
    const parts = { root, context, actions: planned.actions, done };
    try {
      // The remote side first: conflicts move there before their copies are fetched.
      await applyRemotely(parts);
      await applyLocally(parts);
    } finally {
      record(memory.base, planned.actions, done);
    }
    const unsettled = new Set([...local.busy, ...other.busy, ...planned.actions.map(({ path }) => path)]);
    return {
      changes: done.size,
      unsettled: [...unsettled],
      scans: { local, remote: other },
    };
  } finally {
    await root.close();
  }

  function planRound(
    { memory: { base } }: RoundContext,
    local: Scan,
    other: Scan,
    isFree: (path: string) => boolean,
  ): Plan {
    const free = <E>(tree: ReadonlyMap<string, E>) => new Map([...tree].filter(([path]) => isFree(path)));
    const [ours, theirs] = [free(local.tree), free(other.tree)];
    return plan({
      base: free(base),
      local: ours,
      remote: theirs,
      mode: settings.mode,
      prefer: settings.prefer,
      deleteExtra: settings.deleteExtra,
      isLocalOnly: settings.gitignore ? (path) => nameOf(path) === '.gitignore' : undefined,
      conflictPath: (path) => freeName(path, (name) => ours.has(name) || theirs.has(name) || !isFree(name)),
    });
  }

  /** Paths that are left alone, each reported once. */
  function collectBlocked(_: RoundContext, local: Scan, other: Scan): Set<string> {
    const blocked = new Set<string>([...local.busy, ...other.busy]);
    const tell = (side: Side, path: string, reason: string) => {
      blocked.add(path);
      const key = `${side} ${path} ${reason}`;
      if (settings.told.has(key) || settings.told.size > 10_000) return;
      settings.told.add(key);
      emit({ type: 'skipped', side, path, reason });
    };
    for (const [path, reason] of local.blocked) tell('local', path, reason);
    for (const [path, reason] of other.blocked) tell('remote', path, reason);
    if (context.foldsCase) {
      const taken = new Map<string, string>();
      for (const path of [...local.tree.keys(), ...other.tree.keys()]) {
        const folded = path.normalize('NFC').toLowerCase();
        const first = taken.get(folded);
        if (first === undefined) taken.set(folded, path);
        else if (first !== path)
          tell('remote', path, `the file system here does not distinguish the name from ${first}`);
      }
    }
    return blocked;
  }
}

async function openLocal({ settings, memory }: RoundContext): Promise<LocalRoot> {
  try {
    return await LocalRoot.open(settings.local);
  } catch (error) {
    if (hasCode(error, 'ENOTDIR'))
      throw new InvalidRequestError(`sync: ${settings.local} of this machine is no directory.`, {
        operation: 'sync',
      });
    if (!hasCode(error, 'ENOENT')) throw error;
    if (memory.base.size > 0) throw vanished('local', settings.local);
    if (settings.mode === 'push')
      throw new InvalidRequestError(`sync: there is no directory ${settings.local} on this machine.`, {
        operation: 'sync',
      });
    await mkdir(settings.local, { recursive: true });
    return LocalRoot.open(settings.local);
  }
}

async function scanOrMake(
  { settings, memory, remote, signal }: RoundContext,
  scan: () => Promise<Scan | undefined>,
): Promise<Scan> {
  const found = await scan();
  if (found !== undefined) return found;
  if (memory.base.size > 0) throw vanished('remote', remote.path);
  if (settings.mode === 'pull')
    throw new FileNotFoundError(`sync: there is no directory ${remote.path} in the sandbox.`, {
      operation: 'sync',
    });
  await remote.sandbox.files.makeDir(remote.path, { user: remote.user, signal });
  const made = await scan();
  if (made === undefined) throw vanished('remote', remote.path);
  return made;
}

/** A side that loses all at once rather lost its disk than its files. */
function refuseEmptied({ settings, memory }: RoundContext, local: Scan, remote: Scan): void {
  const { mode, allowEmpty } = settings;
  const refuse = (side: Side, scan: Scan, other: Scan) => {
    if (allowEmpty || scan.tree.size + scan.blocked.size + scan.busy.size > 0 || other.tree.size === 0)
      return;
    if (memory.base.size < 2 && !(settings.deleteExtra && mode !== 'two-way')) return;
    throw new SyncStoppedError(
      `sync: everything in the ${side} directory was deleted, and it is not deleted on the other side. If that is meant, allow it (\`allowEmpty\`, --allow-empty).`,
      { reason: 'root_emptied' },
    );
  };
  if (mode !== 'pull') refuse('local', local, remote);
  if (mode !== 'push') refuse('remote', remote, local);
}

function vanished(side: Side, path: string): SyncStoppedError {
  const where = side === 'local' ? 'of this machine' : 'of the sandbox';
  return new SyncStoppedError(
    `sync: the directory ${path} ${where} is missing. Nothing was deleted on the other side. Put it back, or start anew without the state of before.`,
    { reason: 'root_vanished' },
  );
}

/** Records the common state after actions. */
function record(base: Map<string, Entry>, actions: readonly Action[], done: ReadonlySet<Action>): void {
  for (const action of actions) {
    if (!done.has(action)) continue;
    if (action.kind === 'delete') base.delete(action.path);
    else if (action.kind === 'rename') base.delete(action.path);
  }
  for (const action of actions) {
    if (!done.has(action)) continue;
    if (action.kind === 'write') base.set(action.path, action.entry);
    else if (action.kind === 'rename' && action.found.type === 'file') {
      const { digest, executable } = action.found;
      base.set(action.to, { type: 'file', digest, executable });
    }
  }
}

/** `NAME.conflict-remote-TIME`, with a number when that is taken. */
function freeName(path: string, isTaken: (path: string) => boolean): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const directory = parentOf(path);
  // A name may have 255 bytes.
  let name = nameOf(path);
  while (Buffer.byteLength(name) > 200) name = name.slice(0, -1);
  for (let count = 1; ; count += 1) {
    const tried = `${name}.conflict-remote-${time}${count === 1 ? '' : `-${count}`}`;
    const whole = directory === '' ? tried : `${directory}/${tried}`;
    if (!isTaken(whole)) return whole;
  }
}
