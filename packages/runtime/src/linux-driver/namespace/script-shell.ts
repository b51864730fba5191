import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { sharedLimits } from '../../host/host-limits.js';
import { assetPath } from '../../shared/assets.js';
import { keepAlive } from '../../shared/keep-alive.js';
import { killFamily } from '../../shared/process-family.js';
import { readText } from '../../shared/read-text.js';
import { SCRIPT_ENVIRONMENT } from '../../shared/script-environment.js';
import {
  formatCall,
  parseAnswers,
  type ScriptCall,
  type ScriptOptions,
  type ScriptResult,
} from './script-call.js';

const OUTPUT_LIMIT = 256 * 1024;

/** Where the functions, the calls and what they print are, in the keeper's namespace: memory that goes with it. */
export const SCRIPTS = '/run/scripts';

interface RunningCall {
  pid?: number;
  onAsk: ScriptOptions['onAsk'];
  finish(code: number | undefined): void;
}

/**
 * A shell that stays inside the keeper's namespace and runs calls there, side by side (`assets/script-shell.sh`). To
 * start a process costs the server as much as copying its page tables, several milliseconds in which it does nothing
 * else; the shell is small. It ends with the server, whose end of the pipe closes; calls that run by then come to their
 * end.
 */
export class ScriptShell {
  readonly #enter: readonly string[];
  readonly #view: (path: string) => string;
  readonly #mark: string;
  readonly #running = new Map<string, RunningCall>();
  #child: ChildProcessWithoutNullStreams | undefined;
  #ended: Promise<void> = Promise.resolve();
  #serial = 0;
  #unread = '';

  /**
   * @param enter the command line in front of one that is to run inside.
   * @param view a path of the namespace as this process sees it.
   * @param mark last word of the command line: whose shell it is.
   */
  constructor(enter: readonly string[], view: (path: string) => string, mark: string) {
    this.#enter = enter;
    this.#view = view;
    this.#mark = mark;
  }

  /** Runs a call to its end. Never rejects for a failing one: the caller reads `code`. */
  async run(
    call: ScriptCall,
    { timeoutMs, outputLimit = OUTPUT_LIMIT, onAsk }: ScriptOptions,
  ): Promise<ScriptResult> {
    const child = this.#start();
    const name = `${onAsk === undefined ? '' : 'ask-'}${process.pid}-${this.#serial++}`;
    const path = this.#view(`${SCRIPTS}/${name}`);
    writeFileSync(path, formatCall(call), { mode: 0o600 });
    let timedOut = false;
    const code = await new Promise<number | undefined>((resolve) => {
      const running: RunningCall = {
        onAsk,
        finish: (result) => {
          clearTimeout(timer);
          this.#running.delete(name);
          resolve(result);
        },
      };
      const timer = setTimeout(() => {
        timedOut = true;
        if (running.pid !== undefined) killFamily(running.pid);
        running.finish(undefined);
      }, timeoutMs);
      this.#running.set(name, running);
      keepAlive(child, true);
      child.stdin.write(`${name}\n`);
    });
    // One that is idle must not keep the server from ending.
    keepAlive(child, this.#running.size > 0);
    const answers = parseAnswers(readOnce(`${path}.out`, outputLimit));
    const stderr = readOnce(`${path}.err`, outputLimit);
    rmSync(path, { force: true });
    return { code, timedOut, answers, stderr };
  }

  /** Ends the shell; settles when it has exited. A later call starts another. */
  async end(): Promise<void> {
    if (this.#child === undefined) return;
    keepAlive(this.#child, true);
    this.#child.stdin.end();
    await this.#ended;
  }

  #start(): ChildProcessWithoutNullStreams {
    if (this.#child !== undefined) return this.#child;
    copyScripts(this.#view(SCRIPTS));
    // A process that makes a user namespace passes its limits on: those of all users in there together.
    const limits = sharedLimits().map(({ name, together }) => `--${name}=${together}`);
    const limited = limits.length > 0 ? ['prlimit', ...limits] : [];
    const shell = ['sh', `${SCRIPTS}/script-shell.sh`, SCRIPTS, this.#mark];
    const [file, ...args] = [...this.#enter, ...limited, ...shell];
    const child = spawn(file!, args, { detached: true, stdio: 'pipe', env: SCRIPT_ENVIRONMENT });
    this.#child = child;
    this.#unread = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#onData(text));
    child.stderr.resume();
    child.stdin.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      const onExit = () => {
        if (this.#child === child) this.#child = undefined;
      };
      const onClose = () => {
        onExit();
        // Killed by somebody: what it had not begun will not run.
        for (const running of this.#running.values()) running.finish(137);
        resolve();
      };
      child.once('exit', onExit);
      // Calls that outlive it still report; the pipe closes after the last of them.
      child.once('close', onClose);
      child.once('error', onClose);
    });
    return child;
  }

  #onData(text: string): void {
    const lines = (this.#unread + text).split('\n');
    this.#unread = lines.pop()!;
    for (const line of lines) {
      const [event, name = '', value] = line.split(' ');
      const running = this.#running.get(name);
      if (event === 'began' && running !== undefined) running.pid = Number(value);
      if (event === 'asks') running?.onAsk?.((word) => this.#child?.stdin.write(`${name} ${word}\n`));
      if (event !== 'ended') continue;
      running?.finish(Number(value));
      this.#child?.stdin.write('\n');
    }
  }
}

/** The package may lie on a file system that was mounted after the namespace was made, so the shell gets copies. */
function copyScripts(directory: string): void {
  rmSync(`${directory}/functions`, { recursive: true, force: true });
  mkdirSync(`${directory}/functions`, { recursive: true, mode: 0o700 });
  const functions = readdirSync(assetPath('functions')).map((name) => `functions/${name}`);
  for (const name of ['script-shell.sh', 'criu-hook.sh', 'gvisor-start.sh', 'own-mounts.pl', ...functions])
    writeFileSync(`${directory}/${name}`, readFileSync(assetPath(name)), { mode: 0o700 });
}

/** Reads what a call printed and removes it. */
function readOnce(path: string, limit: number): string {
  const text = readText(path)?.slice(0, limit) ?? '';
  rmSync(path, { force: true });
  return text;
}
