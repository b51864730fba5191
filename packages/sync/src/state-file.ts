import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InvalidRequestError } from '@svc/sdk';
import { pathProblem } from '@svc/sdk/local-trees';
import type { SyncMemory } from './context.js';
import { hasCode } from './local/local-root.js';
import type { Entry } from './plan/tree.js';
import { draftName } from './rules/names.js';
import type { Digests } from './scan.js';

/** The pair of directories that a state is about: it means nothing for another pair. */
export interface StateSubject {
  readonly sandboxId: string;
  readonly remote: string;
  /** Absolute. */
  readonly local: string;
}

const version = 1;

/** A memory of nothing. */
export function blankMemory(): SyncMemory {
  return { base: new Map(), local: new Map(), remote: new Map() };
}

/**
 * Reads what was remembered; nothing when there is no file.
 * @throws InvalidRequestError when the file is of something else
 */
export async function readState(file: string, subject: StateSubject): Promise<SyncMemory> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return blankMemory();
    throw error;
  }
  const state = parse(text);
  const isAbout =
    state?.version === version &&
    state.sandboxId === subject.sandboxId &&
    state.remote === subject.remote &&
    state.local === subject.local;
  if (state === undefined || !isAbout) {
    throw new InvalidRequestError(
      `sync: ${file} is no state of synchronizing ${subject.local} with ${subject.remote} of sandbox ${subject.sandboxId}. Name another file, or delete it to start anew.`,
      { operation: 'sync' },
    );
  }
  return {
    base: new Map(state.base.filter(([path]) => pathProblem(path) === undefined)),
    local: new Map(state.digests.local),
    remote: new Map(state.digests.remote),
  };
}

/** Writes what is remembered; a reader sees the old or the new state, whole. */
export async function writeState(file: string, subject: StateSubject, memory: SyncMemory): Promise<void> {
  const { base, local, remote } = memory;
  const state: State = {
    version,
    ...subject,
    base: [...base],
    digests: { local: [...local], remote: [...remote] },
  };
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}${draftName()}`;
  try {
    await writeFile(draft, JSON.stringify(state), { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

interface State extends StateSubject {
  version: number;
  base: [string, Entry][];
  digests: {
    local: (Digests extends Map<infer K, infer V> ? [K, V] : never)[];
    remote: State['digests']['local'];
  };
}

function parse(text: string): State | undefined {
  try {
    const state = JSON.parse(text) as State;
    const lists = [state.base, state.digests.local, state.digests.remote];
    return lists.every(Array.isArray) ? state : undefined;
  } catch {
    return undefined;
  }
}
