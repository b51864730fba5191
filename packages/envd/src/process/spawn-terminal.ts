import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { chownSync, closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { ReadStream } from 'node:tty';
import { exitStatus } from './exit-status.js';
import { launchCommand } from './launch.js';
import type { OpenTerminals } from './open-terminals.js';
import { OutputReader } from './output-reader.js';
import type { Program, ProgramEvents, ProgramSpec } from './program.js';
import { writeBytes } from './write-bytes.js';

/** The native half of @lydell/node-pty. */
interface TerminalAddon {
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
  resize(fd: number, columns: number, rows: number): void;
}

// The first program of a session that opens a terminal gets it as its controlling one.
const TAKE_TERMINAL = 'terminal=$1; shift; exec "$@" 0<>"$terminal" 1>&0 2>&0';

let addon: TerminalAddon | undefined;

/**
 * Starts a program in a terminal of its own.
 *
 * The add-on only opens the terminal; the runtime starts the program, because the add-on's own fork would hand every
 * other open terminal down to it.
 *
 * @throws Error when the system has no terminal to give or the platform no add-on.
 */
export function spawnWithTerminal(
  spec: ProgramSpec,
  size: { columns: number; rows: number },
  terminals: OpenTerminals,
  events: ProgramEvents,
): Program {
  addon ??= require(join(__dirname, `pty-${process.platform}-${process.arch}.node`)) as TerminalAddon;
  const { resize } = addon;
  const { master, slave, pty } = addon.open(size.columns, size.rows);
  if (spec.identity) giveTerminal(pty, spec.identity);
  let child: ChildProcess;
  try {
    child = startChild(spec, pty, terminals.hide([slave, slave, slave], [master, slave]));
  } catch (error) {
    closeSync(master);
    throw error;
  } finally {
    closeSync(slave);
  }
  terminals.add(master);
  const stream = new ReadStream(master);
  stream.once('close', () => terminals.delete(master));
  let end = exitStatus(null, null);
  const reader = new OutputReader(events, () => events.end(end));
  // The runtime takes the hang-up for the end while the kernel still holds the last output.
  stream.once('end', () => drain(master, reader));
  reader.read(stream, 'pty');
  child.once('exit', (code, signal) => {
    end = exitStatus(code, signal);
    reader.exited();
  });
  return {
    pid: child.pid!,
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    releaseOutput: () => reader.release(),
    write: (bytes) => writeBytes(stream, bytes, 'the terminal'),
    closeInput() {},
    resize(columns, rows) {
      if (stream.destroyed) throw new Error('the terminal is closed');
      resize(master, columns, rows);
    },
  };
}

function startChild(spec: ProgramSpec, terminal: string, stdio: StdioOptions): ChildProcess {
  const inTerminal = {
    ...spec,
    command: '/bin/sh',
    args: ['-c', TAKE_TERMINAL, 'sh', terminal, spec.command, ...spec.args],
  };
  const { file, args, uid, gid } = launchCommand(inTerminal, false);
  const child = spawn(file, args, {
    cwd: spec.directory,
    env: spec.environment,
    stdio,
    detached: true,
    ...(uid === undefined ? {} : { uid, gid }),
  });
  // Node reports some failures by an event; the missing pid has told already.
  child.once('error', () => {});
  if (child.pid === undefined) throw new Error(`no shell to run ${JSON.stringify(spec.command)}`);
  return child;
}

// Programs open their terminal by name, which only its owner may.
function giveTerminal(path: string, owner: { uid: number; gid: number }): void {
  try {
    chownSync(path, owner.uid, owner.gid);
  } catch {
    // The program works without; only opening by name fails.
  }
}

function drain(fd: number, reader: OutputReader): void {
  const buffer = Buffer.alloc(16 * 1024);
  try {
    for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer)) {
      reader.deliver('pty', Buffer.from(buffer.subarray(0, size)));
    }
  } catch {
    // EIO: everything has been read. EAGAIN: somebody still holds the terminal, and has nothing to say.
  }
}
