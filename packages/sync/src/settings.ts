import { resolve } from 'node:path';
import { InvalidRequestError } from '@svc/sdk';
import type { SyncOptions } from './options.js';
import type { Preference, SyncMode } from './plan/input.js';
import type { ScanLimits } from './scan.js';

/** Options with their defaults. */
export interface SyncSettings {
  /** Absolute. */
  readonly local: string;
  readonly mode: SyncMode;
  readonly prefer: Preference | undefined;
  readonly deleteExtra: boolean;
  readonly gitignore: boolean;
  readonly allowEmpty: boolean;
  readonly rescanIntervalMs: number;
  readonly limits: ScanLimits;
  /** Paths that were reported as skipped. */
  readonly told: Set<string>;
}

const gibibyte = 1024 ** 3;

/** @throws InvalidRequestError for values that make no sense */
export function resolveSettings(options: SyncOptions): SyncSettings {
  const { mode = 'two-way', prefer, rescanIntervalMs = 60_000 } = options;
  const { maxEntries = 200_000, maxFileSizeBytes = 4 * gibibyte, maxTotalBytes = 32 * gibibyte } = options;
  check('local', options.local, typeof options.local === 'string' && options.local !== '', 'a path');
  check('remote', options.remote, typeof options.remote === 'string' && options.remote !== '', 'a path');
  check('mode', mode, ['two-way', 'push', 'pull'].includes(mode), 'two-way, push or pull');
  check(
    'prefer',
    prefer,
    prefer === undefined || (mode === 'two-way' && ['local', 'remote', 'newer'].includes(prefer)),
    'local, remote or newer, and for the mode two-way alone',
  );
  for (const [name, value] of Object.entries({ maxEntries, maxFileSizeBytes, maxTotalBytes }))
    check(name, value, Number.isSafeInteger(value) && value >= 1, 'a whole number of at least 1');
  check(
    'rescanIntervalMs',
    rescanIntervalMs,
    Number.isFinite(rescanIntervalMs) && rescanIntervalMs >= 1_000 && rescanIntervalMs < 2 ** 31,
    'a number from 1000 to 2147483647',
  );
  return {
    local: resolve(options.local),
    mode,
    prefer,
    deleteExtra: options.deleteExtra ?? false,
    gitignore: options.gitignore ?? false,
    allowEmpty: options.allowEmpty ?? false,
    rescanIntervalMs,
    limits: { maxEntries, maxFileSizeBytes, maxTotalBytes },
    told: new Set(),
  };
}

function check(name: string, value: unknown, isRight: boolean, wanted: string): void {
  if (isRight) return;
  throw new InvalidRequestError(`sync: ${name} must be ${wanted}, got ${JSON.stringify(value)}.`, {
    operation: 'sync',
  });
}
