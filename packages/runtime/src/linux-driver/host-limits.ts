import { readFileSync, writeFileSync } from 'node:fs';

/** Highest number of open files this process may give to others: a runtime that asks for more is refused. */
export function hostNofileLimit(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  const value = hard === 'unlimited' ? 1_048_576 : Number(hard);
  return Math.min(Number.isFinite(value) && value > 0 ? value : 1024, 1_048_576);
}

/**
 * What the kernel grants one user in all, and how much sandboxes need of it together: they all count as the same user.
 * The memory behind it is bounded by each sandbox's own limit.
 */
const NEEDED: { file: string; atLeast: number }[] = [
  // Pipe buffers, in pages. Past it a restore cannot give pipes their size back: about 80 forks with the default.
  { file: '/proc/sys/fs/pipe-user-pages-soft', atLeast: 1_048_576 },
  { file: '/proc/sys/fs/inotify/max_user_instances', atLeast: 8192 },
];

/** Raises what is too low for many sandboxes. Gives a sentence for each that cannot be raised. */
export function raiseHostLimits(log: (message: string, fields: Record<string, unknown>) => void): string[] {
  const problems: string[] = [];
  for (const { file, atLeast } of NEEDED) {
    const name = file.slice('/proc/sys/'.length).replaceAll('/', '.');
    try {
      const now = Number(readFileSync(file, 'utf8'));
      // 0 means no limit for pipes.
      if (now >= atLeast || (now === 0 && name.includes('pipe'))) continue;
      writeFileSync(file, String(atLeast));
      log('a limit of the host was raised', { name, from: now, to: atLeast });
    } catch {
      problems.push(
        `${name} cannot be raised: many sandboxes at once may fail (sysctl -w ${name}=${atLeast}).`,
      );
    }
  }
  return problems;
}
