import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { anyOf } from '#support/any-of';
import { processStart } from '#support/process-identity';
import type { DaemonProgram } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { dialTcp } from '../shared/dial.js';
import { waitForDaemon } from '../shared/readiness.js';
import { MARKER } from './process-tree.js';

const BOOT_TIMEOUT_MS = 60_000;
const LOG_FILE = 'daemon.log';
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface BootOptions {
  daemon: DaemonProgram;
  /** The instance's directory; `home` is below it. */
  directory: string;
  home: string;
  signal?: AbortSignal | undefined;
  /** Called as soon as there is a process, so that it can be recorded before anything else can fail. */
  started?: (child: ChildProcess) => void;
}

export interface BootedDaemon {
  child: ChildProcess;
  pid: number;
  start: string;
  port: number;
}

/**
 * Starts the daemon in a session of its own, so that it outlives us, and waits until it answers.
 * @throws {DriverError} `create_failed`. An abort rejects with its reason. The caller ends what was started.
 */
export async function bootDaemon(options: BootOptions): Promise<BootedDaemon> {
  options.signal?.throwIfAborted();
  const log = await open(join(options.directory, LOG_FILE), 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(
      options.daemon.entry,
      ['--host', '127.0.0.1', '--port', '0', '--ready-fd', '3', '--single-user', '--home', options.home],
      {
        detached: true,
        cwd: options.home,
        stdio: ['ignore', log.fd, log.fd, 'pipe'],
        env: { PATH: process.env.PATH ?? DEFAULT_PATH, HOME: options.home, [MARKER]: options.home },
      },
    );
  } finally {
    await log.close();
  }
  options.started?.(child);
  let exit: string | undefined;
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(failure(`The daemon cannot be started: ${error.message}`)));
    child.once('exit', (code, signal) => {
      exit = `The daemon ended with ${signal ?? code} while it started.`;
      readLog(options.directory).then((detail) => reject(failure(exit!, detail)));
    });
  });
  failed.catch(() => undefined);
  const { signal } = options;
  const timeout = AbortSignal.timeout(BOOT_TIMEOUT_MS);
  const port = await Promise.race([failed, readPort(child.stdio[3] as Readable, timeout, signal)]);
  await Promise.race([
    failed,
    waitForDaemon((abort) => dialTcp('127.0.0.1', port, abort), {
      timeoutMs: BOOT_TIMEOUT_MS,
      signal,
      gaveUp: () => exit,
    }),
  ]);
  const pid = child.pid!;
  const start = processStart(pid);
  if (start === undefined) throw failure('The daemon ended right after its start.');
  child.unref();
  return { child, pid, start, port };
}

function failure(message: string, detail?: string): DriverError {
  return new DriverError('create_failed', 'The sandbox could not be started.', {
    detail: `${message} ${detail ?? ''}`,
  });
}

async function readLog(directory: string): Promise<string> {
  const text = await readFile(join(directory, LOG_FILE), 'utf8').catch(() => '');
  return text.slice(-2000);
}

/** Reads the line that the daemon writes once it listens. */
function readPort(ready: Readable, timeout: AbortSignal, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const abort = signal === undefined ? timeout : anyOf([timeout, signal]);
    const settle = () => {
      abort.removeEventListener('abort', onAbort);
      ready.removeAllListeners();
      ready.on('error', () => undefined);
      ready.destroy();
    };
    const onAbort = () => {
      settle();
      reject(signal?.aborted ? signal.reason : failure('The daemon did not say in time where it listens.'));
    };
    const decide = () => {
      const port = parsePort(text);
      settle();
      if (port === undefined) reject(failure('The daemon did not say where it listens.', text.slice(0, 200)));
      else resolve(port);
    };
    ready.setEncoding('utf8');
    ready.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) decide();
    });
    ready.on('error', decide);
    // The exit of the daemon closes the pipe too and explains more: it is reported first.
    ready.on('end', () => setTimeout(decide, 1_000).unref());
    abort.addEventListener('abort', onAbort, { once: true });
    if (abort.aborted) onAbort();
  });
}

function parsePort(text: string): number | undefined {
  try {
    const { port } = JSON.parse(text) as { port?: unknown };
    return typeof port === 'number' && port > 0 && port < 65536 ? port : undefined;
  } catch {
    return undefined;
  }
}
