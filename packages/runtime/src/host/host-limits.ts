import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';

/** Highest number of open files this process may give to others: a runtime that asks for more is refused. */
export function hostNofileLimit(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  const value = hard === 'unlimited' ? 1_048_576 : Number(hard);
  return Math.min(Number.isFinite(value) && value > 0 ? value : 1024, 1_048_576);
}

/**
 * The limits that the kernel sets for one user in all, and the need of all sandboxes together. Their user namespaces are made by the
 * host's root, so what is counted along namespaces counts for it too, regardless of their ids: where sandboxes could use
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

/** Message queues of one sandbox, and what one of the usual size takes of the limit, a little more. */
export const MESSAGE_QUEUES = 4;
const MESSAGE_QUEUE_BYTES = 102_400;
/** Sandboxes of one driver. */
const SANDBOXES = 1_024;

/**
 * The limits that the kernel counts along user namespaces up to the host's root: for all sandboxes together, and for one user
 * in a sandbox.
 * - Of queued signals the host keeps half for itself.
 * - Of message queues a sandbox has few, regardless of its users (see `ociConfig`), so there are enough for all.
 * - Processes have limits in cgroups, and this one would end them for all sandboxes at once.
 * @param limits, status: of this process, in `/proc`
 * @param fewQueues whether sandboxes can be held to a number of queues
 */
export function sharedLimits(
  limits = readFileSync('/proc/self/limits', 'utf8'),
  status = readFileSync('/proc/self/status', 'utf8'),
  fewQueues = limitsQueues(),
): SharedLimit[] {
  const mayRaise = hasCapability(status, CAP_SYS_RESOURCE);
  const soft = (name: string) => new RegExp(`^Max ${name}\\s+(\\S+)`, 'm').exec(limits)?.[1] ?? 'unlimited';
  const found: SharedLimit[] = [];
  const signals = Number(soft('pending signals'));
  if (signals > 0) {
    const together = Math.floor(signals / 2);
    found.push({ name: 'sigpending', together: `${together}:`, each: Math.min(512, together) });
  }
  const queues = Number(soft('msgqueue size'));
  const needed = SANDBOXES * MESSAGE_QUEUES * MESSAGE_QUEUE_BYTES;
  if (fewQueues && (queues >= needed || (queues > 0 && mayRaise))) {
    const each = MESSAGE_QUEUES * MESSAGE_QUEUE_BYTES;
    found.push({ name: 'msgqueue', together: `${needed}:${needed}`, each });
  } else if (queues > 0)
    found.push({ name: 'msgqueue', together: `${queues}:`, each: Math.min(MESSAGE_QUEUE_BYTES, queues) });
  if (mayRaise && soft('processes') !== 'unlimited')
    found.push({ name: 'nproc', together: 'unlimited:unlimited', each: undefined });
  return found;
}

/** Returns true if the kernel lets root of a user namespace set the number of message queues of its IPC namespace (6.9 and later). */
export function limitsQueues(kernel = release()): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 9);
}

const CAP_SYS_RESOURCE = 24n;

function hasCapability(status: string, capability: bigint): boolean {
  const effective = /^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> capability) & 1n) === 1n;
}

export interface SharedLimit {
  /** As `prlimit` calls it. */
  name: 'sigpending' | 'msgqueue' | 'nproc';
  /** Soft and hard limit, as `prlimit` reads them. */
  together: string;
  /** Undefined: what they have together. */
  each: number | undefined;
}

/** One of the kernel's limits that many sandboxes run into. */
export interface HostLimit {
  /** As `sysctl` calls it. */
  name: string;
  /** 0 when it cannot be read. */
  value: number;
  /** The value that the driver raises it to at start. */
  atLeast: number;
  enough: boolean;
  /** True if this process may raise it. */
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
