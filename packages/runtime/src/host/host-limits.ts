import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';

/** Highest number of open files this process may give to others: a runtime that asks for more is refused. */
export function hostNofileLimit(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  const value = hard === 'unlimited' ? 1_048_576 : Number(hard);
  return Math.min(Number.isFinite(value) && value > 0 ? value : 1024, 1_048_576);
}

/**
 * What the kernel grants one user in all, and how much sandboxes need of it together. Their user namespaces are made by the
 * host's root, so what is counted along namespaces counts for it too, whatever ids they have: where sandboxes could use
 * it up, nobody else had any. The memory behind it is bounded by each sandbox's own limit.
 */
const NEEDED: { file: string; atLeast: number }[] = [
  // Pipe buffers, in pages. Past it a restore cannot give pipes their size back: about 80 forks with the default.
  { file: '/proc/sys/fs/pipe-user-pages-soft', atLeast: 1_048_576 },
  // About a kilobyte each: memory runs out before these do.
  { file: '/proc/sys/fs/inotify/max_user_instances', atLeast: 2 ** 28 },
  { file: '/proc/sys/fs/inotify/max_user_watches', atLeast: 2 ** 28 },
  // Processes and threads of the whole host: the default is used up by 16 sandboxes of 2048.
  { file: '/proc/sys/kernel/pid_max', atLeast: 1_048_576 },
];

/**
 * Of queued signals and message queues, which the kernel counts along user namespaces up to the host's root: what all
 * sandboxes together may have, and what one user in a sandbox may. Of signals the host keeps half for itself; of queues,
 * which it hardly uses, sandboxes may have all that it may: nine of the usual size. Nothing where there is no limit.
 */
export function sharedLimits(limits = readFileSync('/proc/self/limits', 'utf8')): SharedLimit[] {
  return [
    { name: 'sigpending' as const, line: /^Max pending signals\s+(\S+)/m, share: 1 / 2, most: 512 },
    { name: 'msgqueue' as const, line: /^Max msgqueue size\s+(\S+)/m, share: 1, most: 102_400 },
  ].flatMap(({ name, line, share, most }) => {
    const soft = Number(line.exec(limits)?.[1]);
    if (!(soft > 0)) return [];
    const together = Math.floor(soft * share);
    return [{ name, together, each: Math.min(most, together) }];
  });
}

export interface SharedLimit {
  /** As `prlimit` calls it. */
  name: 'sigpending' | 'msgqueue';
  together: number;
  each: number;
}

/** One of the kernel's limits that many sandboxes run into. */
export interface HostLimit {
  /** As `sysctl` calls it. */
  name: string;
  /** 0 when it cannot be read. */
  value: number;
  /** What the driver raises it to when it starts. */
  atLeast: number;
  enough: boolean;
  /** Whether this process may raise it. */
  writable: boolean;
}

/** Looks at the limits. Changes nothing. */
export function readHostLimits(): HostLimit[] {
  return NEEDED.map(({ file, atLeast }) => {
    const name = file.slice('/proc/sys/'.length).replaceAll('/', '.');
    const value = read(file);
    // 0 means no limit for pipes.
    const enough = value !== undefined && (value >= atLeast || (value === 0 && name.includes('pipe')));
    return { name, value: value ?? 0, atLeast, enough, writable: isWritable(file) };
  });
}

/** Raises what is too low for many sandboxes. Gives a sentence for each that cannot be raised. */
export function raiseHostLimits(log: (message: string, fields: Record<string, unknown>) => void): string[] {
  const problems: string[] = [];
  for (const { name, value, atLeast, enough } of readHostLimits()) {
    if (enough) continue;
    try {
      writeFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, String(atLeast));
      log('a limit of the host was raised', { name, from: value, to: atLeast });
    } catch {
      problems.push(
        `${name} cannot be raised: many sandboxes at once may fail (sysctl -w ${name}=${atLeast}).`,
      );
    }
  }
  return problems;
}

function read(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
