import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { killFamily } from '../../shared/process-family.js';
import { readText } from '../../shared/read-text.js';
import { OUTPUT_LIMIT, type RunResult, SCRIPT_ENVIRONMENT } from '../../shared/run.js';

/** Where scripts and what they print stand, in the keeper's namespace: memory that goes with it. */
const DIRECTORY = '/run/scripts';

/**
 * Takes names of scripts, runs each in a subshell of its own and says when it began ("p name pid") and ended ("d name
 * code"). An empty name only collects those that have ended.
 */
const LOOP = `
ulimit -c 0
while read -r name; do
  jobs >/dev/null 2>&1
  [ -n "$name" ] || continue
  { ( . "$1/$name" ) >"$1/$name.out" 2>"$1/$name.err" </dev/null; echo "d $name $?"; } &
  echo "p $name $!"
done
`;

interface Pending {
  pid?: number;
  settle(code: number | undefined): void;
}

/**
 * A shell that stays inside the keeper's namespace and runs scripts there, side by side. To start a process costs the
 * server as much as copying its page tables, several milliseconds in which it does nothing else; the shell is small.
 * It ends with the server, whose end of the pipe closes; scripts that run by then come to their end.
 */
export class ScriptShell {
  readonly #enter: readonly string[];
  readonly #view: (path: string) => string;
  readonly #mark: string;
  readonly #pending = new Map<string, Pending>();
  #child: ChildProcessWithoutNullStreams | undefined;
  #ended: Promise<void> = Promise.resolve();
  #serial = 0;
  #unread = '';

  /**
   * @param enter the command line in front of one that is to run inside.
   * @param view a path of the namespace as this process sees it.
   * @param mark last word of the command line: whose scripts these are.
   */
  constructor(enter: readonly string[], view: (path: string) => string, mark: string) {
    this.#enter = enter;
    this.#view = view;
    this.#mark = mark;
  }

  /** Runs a script to its end. Never rejects for a failing one: the caller reads `code`. */
  async run(text: string, timeoutMs: number): Promise<RunResult> {
    const child = this.#up();
    const name = `${process.pid}-${this.#serial++}`;
    const path = this.#view(`${DIRECTORY}/${name}`);
    writeFileSync(path, text, { mode: 0o600 });
    let timedOut = false;
    const code = await new Promise<number | undefined>((resolve) => {
      const pending: Pending = {
        settle: (result) => {
          clearTimeout(timer);
          this.#pending.delete(name);
          resolve(result);
        },
      };
      const timer = setTimeout(() => {
        timedOut = true;
        if (pending.pid !== undefined) killFamily(pending.pid);
        pending.settle(undefined);
      }, timeoutMs);
      this.#pending.set(name, pending);
      hold(child, true);
      child.stdin.write(`${name}\n`);
    });
    hold(child, this.#pending.size > 0);
    const result = { code, timedOut, stdout: take(`${path}.out`), stderr: take(`${path}.err`) };
    rmSync(path, { force: true });
    return result;
  }

  /** Ends the shell; settles when it is gone. A later script starts another. */
  async end(): Promise<void> {
    if (this.#child === undefined) return;
    hold(this.#child, true);
    this.#child.stdin.end();
    await this.#ended;
  }

  #up(): ChildProcessWithoutNullStreams {
    if (this.#child !== undefined) return this.#child;
    mkdirSync(this.#view(DIRECTORY), { recursive: true, mode: 0o700 });
    const [file, ...args] = [...this.#enter, 'sh', '-c', LOOP, 'scripts', DIRECTORY, this.#mark];
    const child = spawn(file!, args, { detached: true, stdio: 'pipe', env: SCRIPT_ENVIRONMENT });
    this.#child = child;
    this.#unread = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    child.stderr.resume();
    child.stdin.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      const gone = () => {
        if (this.#child === child) this.#child = undefined;
      };
      const silent = () => {
        gone();
        // Killed by somebody: what it had not begun will not run.
        for (const pending of this.#pending.values()) pending.settle(137);
        resolve();
      };
      child.once('exit', gone);
      // Scripts that outlive it still report; the pipe closes after the last of them.
      child.once('close', silent);
      child.once('error', silent);
    });
    return child;
  }

  #hear(text: string): void {
    const lines = (this.#unread + text).split('\n');
    this.#unread = lines.pop()!;
    for (const line of lines) {
      const [kind, name = '', value] = line.split(' ');
      const pending = this.#pending.get(name);
      if (kind === 'p' && pending !== undefined) pending.pid = Number(value);
      if (kind !== 'd') continue;
      pending?.settle(Number(value));
      this.#child?.stdin.write('\n');
    }
  }
}

/** A shell that rests must not keep the server from ending; one that works must. */
function hold(child: ChildProcessWithoutNullStreams, working: boolean): void {
  const method = working ? 'ref' : 'unref';
  child[method]();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket)[method]();
}

/** Reads what a script printed and removes it. */
function take(path: string): string {
  const text = readText(path)?.slice(0, OUTPUT_LIMIT) ?? '';
  rmSync(path, { force: true });
  return text;
}
