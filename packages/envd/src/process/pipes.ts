import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { isDiskFull, saysDiskFull } from '@svc/support/disk-full';
import { makePipeFolder, removeDeadPipeFolders, removePipeFolder } from './pipe-folder.js';

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK } = constants;
/** Pipes made at a time: as many as one more program is worth, because another program makes them. */
const BATCH = 36;
const LOW = 6;

const REFILL_AFTER_MS = 2;

/** The two ends of one pipe as file descriptors. */
export interface Pipe {
  child: number;
  parent: number;
}

/** The pipes of one program. */
export interface Pipes {
  /** Absent when the program gets no input. */
  stdin: Pipe | undefined;
  stdout: Pipe;
  stderr: Pipe;
  /** The program has been started: drops its ends. */
  started(): void;
  /** Writes the only text that the program's input gets, at most 4096 bytes, and closes it. @throws Error when nobody reads. */
  command(text: string): void;
  /** Turns our ends into streams. */
  open(): { input: Writable | undefined; stdout: Readable; stderr: Readable };
  /** Drops every end that is neither dropped nor a stream. */
  close(): void;
}

export interface PipeSource {
  take(input: boolean): Promise<Pipes>;
  /** Makes pipes for the next programs. */
  prepare(): Promise<void>;
}

/** Where pipes are made when the disk is full: nobody could even delete files otherwise. Memory, in every sandbox. */
const IN_MEMORY = '/dev/shm';

/**
 * Makes real pipes. The runtime's own "pipes" are socket pairs, and a program that opens `/dev/stdout` or
 * `/dev/stderr` by name fails on a socket. Node cannot call pipe(2), so `mkfifo` makes some ahead; each loses its name
 * at once and is reached through its descriptor.
 */
export function createPipeSource(root: string = tmpdir(), fallback: string = IN_MEMORY): PipeSource {
  const ready: number[] = [];
  let refill: Promise<void> | undefined;
  let tidied = false;
  /** Once, and after the first pipes: somebody may wait for them. */
  const tidy = (): void => {
    if (tidied) return;
    tidied = true;
    for (const directory of [root, fallback]) removeDeadPipeFolders(directory);
  };

  const prepare = (): Promise<void> => {
    refill ??= makeFifos(root, BATCH)
      .catch((error: unknown) => {
        if (!isDiskFull(error) && !saysDiskFull(String(error))) throw error;
        return makeFifos(fallback, BATCH);
      })
      .then((made) => {
        ready.push(...made);
        setImmediate(tidy);
      })
      .finally(() => {
        refill = undefined;
      });
    return refill;
  };
  const next = (): number => ready.pop()!;
  // Not now: the program that these pipes are for comes first.
  const refillSoon = (): void => {
    setTimeout(() => void prepare().catch(() => {}), REFILL_AFTER_MS).unref();
  };

  return {
    prepare,
    async take(input) {
      while (ready.length < 3) await prepare();
      const stdin = input ? openEnds(next(), 'child-reads') : undefined;
      const stdout = openEnds(next(), 'child-writes');
      const stderr = openEnds(next(), 'child-writes');
      if (ready.length < LOW) refillSoon();
      return pipesOf(stdin, stdout, stderr);
    },
  };
}

function pipesOf(stdin: Pipe | undefined, stdout: Pipe, stderr: Pipe): Pipes {
  const all = stdin ? [stdin, stdout, stderr] : [stdout, stderr];
  const held = new Set(all.flatMap(({ child, parent }) => [child, parent]));
  const drop = (end: number): void => {
    if (held.delete(end)) closeSync(end);
  };
  const stream = (end: number, direction: 'readable' | 'writable'): Socket => {
    held.delete(end);
    return new Socket({ fd: end, readable: direction === 'readable', writable: direction === 'writable' });
  };
  return {
    stdin,
    stdout,
    stderr,
    started() {
      for (const { child } of all) drop(child);
    },
    command(text) {
      try {
        if (stdin) writeSync(stdin.parent, text);
      } finally {
        if (stdin) drop(stdin.parent);
      }
    },
    open: () => ({
      input: stdin && held.has(stdin.parent) ? stream(stdin.parent, 'writable') : undefined,
      stdout: stream(stdout.parent, 'readable'),
      stderr: stream(stderr.parent, 'readable'),
    }),
    close() {
      for (const end of held) drop(end);
    },
  };
}

// `both` has both ends open, so that neither open blocks; closing it leaves one of each.
function openEnds(both: number, direction: 'child-reads' | 'child-writes'): Pipe {
  const path = `/proc/self/fd/${both}`;
  const reads = direction === 'child-reads';
  const child = openSync(path, reads ? O_RDONLY : O_WRONLY);
  const parent = openSync(path, (reads ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
  closeSync(both);
  return { child, parent };
}

async function makeFifos(root: string, count: number): Promise<number[]> {
  const folder = makePipeFolder(root);
  // At an exit in the middle, the other program may still be adding to it: a later daemon removes it then.
  const remove = (): void => removePipeFolder(folder);
  process.once('exit', remove);
  try {
    const paths = Array.from({ length: count }, (_, index) => join(folder, String(index)));
    // Open to all, because programs of other accounts reopen them through /dev/stdout; nobody else knows a name.
    await run('mkfifo', ['-m', '0666', ...paths]);
    return paths.map((path) => openSync(path, O_RDWR | O_NONBLOCK));
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function run(file: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(file, args, (error) => (error ? reject(error) : resolve()));
  });
}
