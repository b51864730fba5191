import { chownSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { ReadStream } from 'node:tty';
import { exitStatus, signalName } from './exit-status.js';
import { launchCommand } from './launch.js';
import { OutputReader } from './output-reader.js';
import type { Program, ProgramEvents, ProgramSpec } from './program.js';
import { writeBytes } from './write-bytes.js';

/** The native half of @lydell/node-pty. */
interface TerminalAddon {
  fork(
    file: string,
    args: string[],
    environment: string[],
    directory: string,
    columns: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string };
  resize(fd: number, columns: number, rows: number): void;
}

let addon: TerminalAddon | undefined;

/**
 * Starts a program in a terminal of its own.
 *
 * @throws Error when the system has no terminal to give or the platform no add-on.
 */
export function spawnWithTerminal(
  spec: ProgramSpec,
  size: { columns: number; rows: number },
  events: ProgramEvents,
): Program {
  addon ??= require(join(__dirname, `pty-${process.platform}-${process.arch}.node`)) as TerminalAddon;
  const { resize } = addon;
  // The add-on cannot report a program that is missing; the shell can.
  const { file, args, uid = -1, gid = -1 } = launchCommand(spec, true);
  const environment = Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`);
  let end = exitStatus(null, null);
  const onExit = (code: number, signal: number) => {
    end = exitStatus(code, signal === 0 ? null : (signalName(signal) ?? null));
    reader.exited();
  };
  const { columns, rows } = size;
  const terminal = addon.fork(
    file,
    args,
    environment,
    spec.directory,
    columns,
    rows,
    uid,
    gid,
    true,
    '',
    onExit,
  );
  if (spec.identity) giveTerminal(terminal.pty, spec.identity);
  const stream = new ReadStream(terminal.fd);
  const reader = new OutputReader(events, () => events.end(end));
  // The runtime takes the hang-up for the end while the kernel still holds the last output.
  stream.once('end', () => drain(terminal.fd, reader));
  reader.read(stream, 'pty');
  return {
    pid: terminal.pid,
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    releaseOutput: () => reader.release(),
    write: (bytes) => writeBytes(stream, bytes, 'the terminal'),
    closeInput() {},
    resize(newColumns, newRows) {
      if (stream.destroyed) throw new Error('the terminal is closed');
      resize(terminal.fd, newColumns, newRows);
    },
  };
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
