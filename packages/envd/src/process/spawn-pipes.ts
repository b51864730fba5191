import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { exitStatus } from './exit-status.js';
import { launchCommand } from './launch.js';
import type { OutputKind, Program, ProgramEvents, ProgramSpec } from './program.js';

/** Largest piece of output in one event, bytes. */
const CHUNK_BYTES = 32 * 1024;
/** After a signal: how long the output may stay silent, and last at most, once the program has ended, ms. */
const QUIET_MS = 20;
const RELEASE_LIMIT_MS = 1000;

export interface PipeOptions {
  /** False: the program's input is empty. */
  input: boolean;
  /** Make the program the leader of its own session. */
  session: boolean;
}

/**
 * Starts a program with pipes.
 *
 * @throws Error of the system call when nothing could be started.
 */
export function spawnWithPipes(spec: ProgramSpec, options: PipeOptions, events: ProgramEvents): Program {
  const child = start(spec, options);
  let open = 2;
  let exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  let released = false;
  let quiet: NodeJS.Timeout | undefined;
  const outputs: Readable[] = [child.stdout!, child.stderr!];
  const finish = () => {
    if (!exit || open > 0) return;
    open = Number.POSITIVE_INFINITY;
    clearTimeout(quiet);
    child.stdin?.destroy();
    events.end(exitStatus(exit.code, exit.signal));
  };
  const cut = () => {
    for (const output of outputs) output.destroy();
  };
  const listenForQuiet = () => {
    if (!exit || !released) return;
    clearTimeout(quiet);
    quiet = setTimeout(cut, QUIET_MS);
  };
  const read = (stream: Readable, kind: OutputKind) => {
    stream.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
        events.output(kind, bytes.subarray(at, at + CHUNK_BYTES));
      }
      if (exit && released) listenForQuiet();
    });
    stream.on('error', () => stream.destroy());
    stream.once('close', () => {
      open--;
      finish();
    });
  };
  read(child.stdout!, 'stdout');
  read(child.stderr!, 'stderr');
  // Failed writes are reported to their writers.
  child.stdin?.on('error', () => {});
  child.once('exit', (code, signal) => {
    exit = { code, signal };
    if (released) startRelease();
    finish();
  });
  const startRelease = () => {
    listenForQuiet();
    setTimeout(cut, RELEASE_LIMIT_MS).unref();
  };
  return {
    pid: child.pid!,
    pause: () => {
      for (const output of outputs) output.pause();
    },
    resume: () => {
      for (const output of outputs) output.resume();
    },
    releaseOutput() {
      if (released) return;
      released = true;
      if (exit) startRelease();
    },
    write: (bytes) => writeAll(child.stdin, bytes),
    closeInput: () => child.stdin?.end(),
  };
}

function start(spec: ProgramSpec, options: PipeOptions): ChildProcess {
  const launch = (throughShell: boolean): ChildProcess => {
    const { file, args, uid, gid } = launchCommand(spec, throughShell);
    const child = spawn(file, args, {
      cwd: spec.directory,
      env: spec.environment,
      stdio: [options.input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      detached: options.session,
      ...(uid === undefined ? {} : { uid, gid }),
    });
    // Node reports some failures by an event; the missing pid has told already.
    child.once('error', () => {});
    return child;
  };
  const direct = launch(false);
  if (direct.pid !== undefined) return direct;
  // The program is missing or not executable: let the shell say so, in its words and with its exit status.
  const viaShell = launch(true);
  if (viaShell.pid !== undefined) return viaShell;
  throw new Error(`cannot start ${JSON.stringify(spec.command)}`);
}

function writeAll(input: Writable | null, bytes: Uint8Array): Promise<void> {
  if (!input) return Promise.reject(new Error('stdin is not enabled for this process'));
  if (!input.writable) return Promise.reject(new Error('stdin of this process is closed'));
  return new Promise((resolve, reject) => {
    input.write(bytes, (error) =>
      error ? reject(new Error(`cannot write to stdin: ${error.message}`)) : resolve(),
    );
  });
}
