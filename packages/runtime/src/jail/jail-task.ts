import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { assetPath } from '../shared/assets.js';

/** Above what distributions, container engines and sandboxes have, below what the kernel keeps for "no id". */
const FIRST = 2 ** 31;
const END = 2 ** 32 - 2 ** 20;

/**
 * User and group of one run of a jailed process: a number that nothing on the host belongs to, and no other run either. What
 * is counted per user, and what processes of one user may do to each other, is its own.
 */
export function jailUser(): number {
  return randomInt(FIRST, END);
}

/** A task of a jailed helper on a tree that a tenant wrote. Paths are relative to it. */
export type JailTask =
  /** Removes what stands at paths of the tree with everything in them. Those that are not there do not matter. */
  | { kind: 'remove'; paths: readonly string[] }
  /** Unpacks a plain tar archive from standard input into a directory of the tree, owners and modes kept. */
  | { kind: 'extract'; into: string };

/** The resources that one task may use. */
export interface JailLimits {
  /** Seconds of CPU time. Default 600. */
  cpuSeconds: number;
  /** MiB of address space. Default 1,024. */
  memoryMiB: number;
  /** Bytes of the largest file that it may write. Default 64 GiB. */
  fileBytes: number;
}

const DEFAULT_LIMITS: JailLimits = { cpuSeconds: 600, memoryMiB: 1_024, fileBytes: 64 * 2 ** 30 };

let script: string | undefined;

/** The jail's script, as text: the file need not be there in the namespace where a jail is made. Read once: every removal needs it. */
function jailScript(): string {
  script ??= readFileSync(assetPath('jail.sh'), 'utf8');
  return script;
}

/**
 * The command line of a task in a jail: a process that sees the tree and the host's programs, and nothing else of the
 * host. To be run as root.
 * @param tree absolute path of a directory; no tenant may be able to change what the path leads to.
 */
export function jailCommand(tree: string, task: JailTask, limits: Partial<JailLimits> = {}): string[] {
  const { cpuSeconds, memoryMiB, fileBytes } = { ...DEFAULT_LIMITS, ...limits };
  if (!tree.startsWith('/')) throw new TypeError('The tree of a jail needs an absolute path.');
  const user = jailUser();
  return [
    ...['unshare', '--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child=SIGKILL'],
    ...['sh', '-c', jailScript(), 'jail', tree],
    ...[cpuSeconds, memoryMiB * 1024, Math.ceil(fileBytes / 512), user].map(String),
    ...programOf(task, user),
  ];
}

/** Entries whose owner the archive does not name, such as directories that it leaves out, belong to root on disk. */
const EXTRACT =
  'into=$1 user=$2; shift 2; "$@" -C "$into" && exec find "$into" -xdev -uid "$user" -exec chown -h 0:0 {} +';

function programOf(task: JailTask, user: number): string[] {
  switch (task.kind) {
    case 'remove':
      // It goes by descriptors, and what is swapped for a link meanwhile is not followed.
      return ['rm', '-rf', '--one-file-system', '--', ...task.paths.map(inTree)];
    case 'extract':
      return [
        ...['sh', '-c', EXTRACT, 'extract', inTree(task.into), String(user), 'tar'],
        ...['-x', '--same-owner', '--numeric-owner', '-p', '--xattrs', '--xattrs-include=user.*'],
        ...['--exclude=dev/*', '--exclude=./dev/*', '-f', '-'],
      ];
  }
}

/** A jailed process reaches nothing but the tree by any path; this only finds mistakes. */
function inTree(path: string): string {
  if (path === '' || path.startsWith('/') || path.split('/').some((part) => part === '..' || part === '.'))
    throw new TypeError(`${JSON.stringify(path)} is no path in the tree of a jail.`);
  return `/tree/${path}`;
}
