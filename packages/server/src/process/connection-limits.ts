import { readFile } from 'node:fs/promises';
import type { ConnectionLimits } from '../api/limits/connections.js';
import type { ResolvedSettings } from '../config/config.js';

/** Each listener's share of the files that the process may have open: none can take those of another. */
export function connectionLimits(
  options: ResolvedSettings['tuning']['connections'],
  openFiles: number,
): Record<'api' | 'gateway' | 'operator', ConnectionLimits> {
  const limits = (total: number): ConnectionLimits => ({
    total,
    perAddress: options.perAddress ?? Math.ceil(total / 2),
    strangerIdleMs: options.strangerIdleMs,
  });
  const share = (part: number, most: number) => Math.max(16, Math.min(most, Math.floor(openFiles * part)));
  return {
    api: limits(options.api ?? share(0.1, 10_000)),
    // Each of them may need another one into a sandbox.
    gateway: limits(options.gateway ?? share(0.3, 50_000)),
    operator: limits(options.operator ?? share(0.01, 64)),
  };
}

/** Returns the limit of open files of this process. Node raises the soft limit to the hard one by itself. */
export async function openFileLimit(): Promise<number> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\S+)/m.exec(text)?.[1];
  if (soft === 'unlimited') return 1_048_576;
  return Number(soft ?? Number.NaN) || 1_024;
}
