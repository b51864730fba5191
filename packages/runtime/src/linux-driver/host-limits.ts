import { readFileSync } from 'node:fs';

/** Highest number of open files this process may give to others: a runtime that asks for more is refused. */
export function hostNofileLimit(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  const value = hard === 'unlimited' ? 1_048_576 : Number(hard);
  return Math.min(Number.isFinite(value) && value > 0 ? value : 1024, 1_048_576);
}
