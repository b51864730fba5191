import type { SyncMode } from '@svc/sync';
import { UsageError } from '../../errors/cli-error.js';

/** Flags of `svc sync`. */
export interface SyncFlags {
  once?: boolean;
  push?: boolean;
  pull?: boolean;
  delete?: boolean;
  prefer?: 'local' | 'remote' | 'newer';
  exclude?: string[];
  gitignore?: boolean;
  vcs?: boolean;
  maxFileSize?: number;
  allowEmpty?: boolean;
  /** False: nothing is remembered. */
  state: boolean;
  user?: string;
}

/** Which way changes go. @throws {UsageError} for both at once */
export function modeOf({ push, pull, prefer, delete: extra }: Partial<SyncFlags>): SyncMode {
  if (push && pull)
    throw new UsageError('--push and --pull exclude each other.', 'Without either, both sides are followed.');
  const mode = push ? 'push' : pull ? 'pull' : 'two-way';
  if (mode !== 'two-way' && prefer !== undefined)
    throw new UsageError('--prefer decides conflicts, and one way has none.');
  if (mode === 'two-way' && extra) throw new UsageError('--delete goes with --push or --pull.');
  return mode;
}
