import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';
import { SCRIPT_ENVIRONMENT } from '../../shared/script-environment.js';
import { storeIsFull } from '../store/storage-full.js';

const KEPT_OUTPUT = 4_000;
/** Of tar: some files changed while they were read. */
const CHANGED = 1;

/** A tar archive that a program writes. */
export interface Packing {
  tar: Readable;
  /** Settles when the program has ended; rejects when it could not read everything. */
  done: Promise<void>;
}

/** @param changing whether files may change meanwhile: what is there when it comes to them is taken. */
export function startPacking(command: readonly string[], changing = false): Packing {
  const [file, ...args] = command;
  const child = spawn(file!, args, { stdio: ['ignore', 'pipe', 'pipe'], env: SCRIPT_ENVIRONMENT });
  const stderr = collect(child.stderr);
  const done = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).then((code) => {
    if (code === 0 || (changing && code === CHANGED)) return;
    throw new DriverError('create_failed', 'A part of the store could not be read.', {
      detail: stderr(),
    });
  });
  // The reader of the stream asks later.
  done.catch(() => undefined);
  return { tar: child.stdout, done };
}

/** Feeds an archive to a program that unpacks it. @throws {DriverError} `invalid_archive`, `storage_full` */
export async function runUnpacking(command: readonly string[], tar: Readable): Promise<void> {
  const [file, ...args] = command;
  const child = spawn(file!, args, { stdio: ['pipe', 'ignore', 'pipe'], env: SCRIPT_ENVIRONMENT });
  const stderr = collect(child.stderr);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const failure: unknown = await pipeline(tar, child.stdin).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) child.kill('SIGKILL');
  const code = await closed;
  const detail = stderr();
  if (saysDiskFull(detail)) throw storeIsFull({ detail });
  // A program that ends early explains more than the pipe that it broke.
  const { code: broken } = (failure ?? {}) as NodeJS.ErrnoException;
  if (failure !== undefined && broken !== 'EPIPE' && broken !== 'ERR_STREAM_PREMATURE_CLOSE') throw failure;
  if (code !== 0)
    throw new DriverError('invalid_archive', 'A part of the archive cannot be unpacked.', { detail });
}

function collect(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-KEPT_OUTPUT);
  });
  return () => text.trim();
}
