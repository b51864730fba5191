import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { exitStatus } from './exit-status.js';
import { launchCommand } from './launch.js';
import type { OpenTerminals } from './open-terminals.js';
import { OutputReader } from './output-reader.js';
import type { Pipes } from './pipes.js';
import type { Program, ProgramEvents, ProgramSpec } from './program.js';
import { writeBytes } from './write-bytes.js';

/** A started program with its pipes. */
export interface StartedProgram {
  child: ChildProcess;
  pipes: Pipes;
}

export interface PipeOptions {
  /** Make the program the leader of its own session. */
  session: boolean;
}

/**
 * Starts a program with pipes, which it takes over even when it fails.
 *
 * @throws Error of the system call when nothing could be started.
 */
export function spawnWithPipes(
  spec: ProgramSpec,
  options: PipeOptions,
  pipes: Pipes,
  terminals: OpenTerminals,
  events: ProgramEvents,
): Program {
  let child: ChildProcess;
  try {
    child = startChild(spec, options, stdioOf(pipes, terminals));
  } catch (error) {
    pipes.close();
    throw error;
  }
  pipes.started();
  return followWithPipes({ child, pipes }, pipes.stdin !== undefined, events);
}

/** Starts a shell that waits for a line to read. @throws Error of the system call. */
export function spawnShell(
  identity: ProgramSpec['identity'],
  options: PipeOptions,
  pipes: Pipes,
  terminals: OpenTerminals,
): ChildProcess {
  const shell = { command: '/bin/sh', args: [], environment: {}, directory: '/', identity };
  try {
    return startChild(shell, options, stdioOf(pipes, terminals), 'sh');
  } catch (error) {
    pipes.close();
    throw error;
  }
}

/** Reads a started program's output to its end. */
export function followWithPipes(
  { child, pipes }: StartedProgram,
  withInput: boolean,
  events: ProgramEvents,
): Program {
  const { stdout, stderr, ...opened } = pipes.open();
  let input = opened.input;
  let end = exitStatus(null, null);
  const reader = new OutputReader(events, () => {
    input?.destroy();
    // Code that still refers to the program must not keep its streams in memory.
    input = undefined;
    events.end(end);
  });
  reader.read(stdout, 'stdout');
  reader.read(stderr, 'stderr');
  // Failed writes are reported to their writers.
  input?.on('error', () => {});
  child.once('exit', (code, signal) => {
    end = exitStatus(code, signal);
    reader.exited();
  });
  return {
    pid: child.pid!,
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    releaseOutput: () => reader.release(),
    write(bytes) {
      if (!withInput) return Promise.reject(new Error('stdin is not enabled for this process'));
      if (!input) return Promise.reject(new Error('stdin of this process is closed'));
      return writeBytes(input, bytes, 'stdin');
    },
    closeInput: () => input?.end(),
  };
}

// Without a pipe the program's input is empty.
function stdioOf({ stdin, stdout, stderr }: Pipes, terminals: OpenTerminals): StdioOptions {
  return terminals.hide([stdin?.child ?? 'ignore', stdout.child, stderr.child]);
}

function startChild(
  spec: ProgramSpec,
  options: PipeOptions,
  stdio: StdioOptions,
  argv0?: string,
): ChildProcess {
  const launch = (throughShell: boolean): ChildProcess => {
    const { file, args, uid, gid } = launchCommand(spec, throughShell);
    const child = spawn(file, args, {
      cwd: spec.directory,
      env: spec.environment,
      stdio,
      detached: options.session,
      ...(argv0 === undefined || file !== spec.command ? {} : { argv0 }),
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
  throw new Error(`no shell to run ${JSON.stringify(spec.command)}`);
}
