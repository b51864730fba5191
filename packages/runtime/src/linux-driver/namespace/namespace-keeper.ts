import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isSameProcess, processStart } from '#support/process-identity';
import { DriverError } from '../../contract/errors.js';
import { assetPath } from '../../shared/assets.js';
import { TOOL_PATH } from '../../shared/script-environment.js';
import type { Paths } from '../state/paths.js';
import type { ScriptCall, ScriptOptions, ScriptResult } from './script-call.js';
import { ScriptShell } from './script-shell.js';

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
  readonly #shell: ScriptShell;

  private constructor(record: KeeperRecord, paths: Paths) {
    this.pid = record.pid;
    this.#start = record.start;
    this.#enter = ['nsenter', `--target=${this.pid}`, '--mount', '--root', '--wd'];
    this.#shell = new ScriptShell(this.#enter, (path) => this.view(path), paths.store);
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
    const script = ['sh', assetPath('namespace-keeper.sh'), 'first', paths.dataDir];
    const child = spawn('unshare', ['-m', '--propagation', 'unchanged', ...script], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: TOOL_PATH, LANG: 'C' },
      cwd: '/',
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ready = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), 20_000);
      const finish = (value: boolean) => {
        clearTimeout(timer);
        resolve(value);
      };
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('ready')) finish(true);
      });
      child.once('exit', () => finish(false));
      child.once('error', (error) => {
        stderr += error.message;
        finish(false);
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

  /** Makes a directory of the namespace that everybody may pass through, regardless of the umask of this process. */
  makeDirectory(path: string): void {
    const before = process.umask(0o022);
    try {
      mkdirSync(this.view(path), { recursive: true });
    } finally {
      process.umask(before);
    }
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

  /** Calls a function of the scripts inside the namespace. Never rejects for a failing one: the caller reads `code`. */
  script(call: ScriptCall, options: ScriptOptions): Promise<ScriptResult> {
    return this.#shell.run(call, options);
  }

  /** Releases it without ending it. */
  release(): Promise<void> {
    return this.#shell.end();
  }

  /** Ends the process, and with it every mount and name that only the namespace held. */
  stop(paths: Paths): void {
    if (this.alive) process.kill(this.pid, 'SIGKILL');
    rmSync(paths.keeperFile, { force: true });
  }
}
