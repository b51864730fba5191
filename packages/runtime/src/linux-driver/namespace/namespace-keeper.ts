import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isSameProcess, processStart } from '#support/process-identity';
import { DriverError } from '../../contract/errors.js';
import { type RunOptions, type RunResult, run, SCRIPT_ENVIRONMENT, TOOL_PATH } from '../../shared/run.js';
import type { Paths } from '../state/paths.js';
import { ScriptShell } from './script-shell.js';

/**
 * Prepares the private mount namespace: nothing mounted here shows on the host. `/run` becomes a tmpfs (CRIU keeps its
 * kernel probe there, network namespaces get their names there), and a hybrid cgroup tree loses its empty v2 part, which
 * runtimes take for a broken setup. A root that is not a mount point (a chroot) is bound onto itself first.
 */
const SETUP = `
set -e
ulimit -c 0
if ! mount --make-rprivate / 2>/dev/null; then
  awk '{ print $5 }' /proc/self/mountinfo | while read -r point; do mount --make-private "$point" 2>/dev/null || true; done
  if [ "$1" != again ]; then
    # Joining the namespace again drops the chroot, and from there the bound tree can become the real root: the kernel
    # gives no user namespaces to a process in a chroot.
    mkdir -p "$2/root"; mount --rbind / "$2/root"; cd "$2/root"
    exec nsenter --target $$ --mount --wd ./bin/sh -c 'PATH=./usr/sbin:./sbin:./usr/bin:./bin; pivot_root . run; cd /; PATH=/usr/sbin:/sbin:/usr/bin:/bin; umount -l /run; exec sh -c "$1" "$1" again "$2"' sh "$0" "$2"
  fi
fi
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock /run/cg
if [ -d /sys/fs/cgroup/unified ]; then
  mount --rbind /sys/fs/cgroup /run/cg
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  for path in /run/cg/*; do
    name=\${path##*/}
    [ "$name" = unified ] && continue
    if [ -L "$path" ]; then cp -P "$path" /sys/fs/cgroup/; continue; fi
    mkdir "/sys/fs/cgroup/$name"; mount --bind "$path" "/sys/fs/cgroup/$name"
  done
  umount -R /run/cg
fi
# The nodes stand beside the directory: a sandbox cannot bind a directory with locked mounts in it.
mkdir -p /run/nodes /run/dev/pts
# The runtime gives a mount the mode of what it is mounted on.
mkdir -m 1777 /run/dev/shm /run/dev/mqueue
for name in null zero full random urandom tty; do
  : > "/run/dev/$name"; : > "/run/nodes/$name"
  mount --bind "/dev/$name" "/run/nodes/$name"; mount -o remount,bind,ro "/run/nodes/$name"
done
# A restore hides files of /proc behind this one, which root inside could change if it were not read-only too.
mount --bind /run/nodes/null /dev/null
ln -s pts/ptmx /run/dev/ptmx; ln -s /proc/self/fd /run/dev/fd
ln -s /proc/self/fd/0 /run/dev/stdin; ln -s /proc/self/fd/1 /run/dev/stdout; ln -s /proc/self/fd/2 /run/dev/stderr
ip netns add gw
echo ready
exec sleep infinity </dev/null >/dev/null 2>&1
`;

interface KeeperRecord {
  pid: number;
  start: string;
}

/**
 * The process that keeps the driver's mount namespace alive. It outlives the server, so running sandboxes keep their
 * mounts and network while no server runs.
 */
export class NamespaceKeeper {
  readonly pid: number;
  readonly #start: string;
  readonly #enter: readonly string[];
  /** Last word of every script's command line: whose it is. */
  readonly #mark: string;
  readonly #shell: ScriptShell;

  private constructor(record: KeeperRecord, paths: Paths) {
    this.pid = record.pid;
    this.#start = record.start;
    this.#enter = ['nsenter', `--target=${this.pid}`, '--mount', '--root', '--wd'];
    this.#mark = paths.store;
    this.#shell = new ScriptShell(this.#enter, (path) => this.view(path), this.#mark);
  }

  /** Finds the living keeper of a data directory. */
  static find(paths: Paths): NamespaceKeeper | undefined {
    try {
      const record = JSON.parse(readFileSync(paths.keeperFile, 'utf8')) as KeeperRecord;
      return isSameProcess(record.pid, record.start) ? new NamespaceKeeper(record, paths) : undefined;
    } catch {
      return undefined;
    }
  }

  static async start(paths: Paths): Promise<NamespaceKeeper> {
    const child = spawn(
      'unshare',
      ['-m', '--propagation', 'unchanged', 'sh', '-c', SETUP, SETUP, 'first', paths.dataDir],
      {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: TOOL_PATH, LANG: 'C' },
        cwd: '/',
      },
    );
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ready = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), 20_000);
      const settle = (value: boolean) => {
        clearTimeout(timer);
        resolve(value);
      };
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('ready')) settle(true);
      });
      child.once('exit', () => settle(false));
      child.once('error', (error) => {
        stderr += error.message;
        settle(false);
      });
    });
    const start = child.pid === undefined ? undefined : processStart(child.pid);
    if (!ready || child.pid === undefined || start === undefined) {
      child.kill('SIGKILL');
      throw new DriverError('unsupported', 'The private mount namespace cannot be made on this host.', {
        detail: stderr.trim(),
      });
    }
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
    const record = { pid: child.pid, start };
    writeFileSync(paths.keeperFile, JSON.stringify(record), { mode: 0o600 });
    return new NamespaceKeeper(record, paths);
  }

  get alive(): boolean {
    return isSameProcess(this.pid, this.#start);
  }

  /** The same absolute path, as seen from the driver's own process. */
  view(path: string): string {
    return `/proc/${this.pid}/root${path}`;
  }

  /** The command line that runs a command inside the namespace. */
  enter(command: readonly string[]): string[] {
    return [...this.#enter, ...command];
  }

  /** The opposite of {@link view}: a path that is the namespace's own, as it is called in there. Others stay as they are. */
  inside(path: string): string {
    const prefix = this.view('/');
    return path.startsWith(prefix) ? path.slice(prefix.length - 1) : path;
  }

  /** Runs a shell script inside the namespace. */
  script(text: string, options: Pick<RunOptions, 'timeoutMs' | 'converse'>): Promise<RunResult> {
    if (options.converse === undefined) return this.#shell.run(text, options.timeoutMs);
    const argv = [...this.#enter, 'sh', '-c', text, 'script', this.#mark];
    return run(argv, { ...options, env: SCRIPT_ENVIRONMENT });
  }

  /** Lets go of it without ending it. */
  release(): Promise<void> {
    return this.#shell.end();
  }

  /** Ends the process, and with it every mount and name that only the namespace held. */
  stop(paths: Paths): void {
    if (this.alive) process.kill(this.pid, 'SIGKILL');
    rmSync(paths.keeperFile, { force: true });
  }
}
