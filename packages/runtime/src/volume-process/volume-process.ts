import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { DriverError, driverClosed } from '../contract/errors.js';
import type { VolumeContent } from '../contract/volumes.js';
import { jailUser } from '../jail/jail-task.js';
import type { RemoteCalls } from '../remote/remote-calls.js';
import { remoteContent } from '../remote/remote-volumes.js';
import { assetPath } from '../shared/assets.js';
import { requireVolumeId } from '../shared/instance-id.js';
import { TOOL_PATH } from '../shared/script-environment.js';
import { contentBehind } from '../volumes/content.js';
import { callsOver } from './calls-over.js';

/** Longest that it may take to load and to be jailed, ms. */
const START_MS = 30_000;
/** Without a call for so long it ends, ms. The next call starts it again. */
const IDLE_MS = 60_000;

/** Where the volumes are: a directory with one for each, in the namespace that `enter` leads a command into. */
export interface VolumesPlace {
  directory: string;
  enter: (command: readonly string[]) => string[];
}

interface Running {
  calls: RemoteCalls;
  child: ChildProcess;
  socket: Socket;
}

/**
 * Works on files of volumes in a process of its own, which has no rights of the host's root and sees nothing but the
 * volumes. It is started by the first call and ends when it is idle.
 */
export class VolumeProcess {
  readonly #place: () => Promise<VolumesPlace>;
  #running: Promise<Running> | undefined;
  #closed = false;

  constructor(place: () => Promise<VolumesPlace>) {
    this.#place = place;
  }

  content(id: string): VolumeContent {
    requireVolumeId(id);
    return contentBehind(async () => remoteContent((await this.#run()).calls, id));
  }

  /** Ends the process: nothing of it holds a mount of the volumes any more. A later call starts it again. */
  async end(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    if (running === undefined) return;
    const { child, calls } = running;
    calls.end();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.end();
  }

  async #run(): Promise<Running> {
    const before = this.#running;
    const running = await before?.catch(() => undefined);
    if (this.#closed) throw driverClosed();
    if (running?.socket.writable === true) return running;
    // Of several calls that found none the first starts it.
    if (this.#running === undefined || this.#running === before) this.#running = this.#start();
    return this.#running;
  }

  async #start(): Promise<Running> {
    const { directory, enter } = await this.#place();
    const namespaces = ['--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child=SIGKILL'];
    const node = [process.execPath, ...process.execArgv, programPath()];
    const script = [
      'sh',
      assetPath('volume-jail.sh'),
      directory,
      String(jailUser()),
      assetPath('refuse-calls.pl'),
      ...node,
    ];
    const [command, ...args] = enter(['unshare', ...namespaces, ...script]);
    const child = spawn(command!, args, {
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      env: { PATH: `${TOOL_PATH}:${process.env.PATH ?? ''}`, LANG: 'C' },
      cwd: '/',
    });
    const socket = child.stdio[3] as Socket;
    socket.on('error', () => undefined);
    child.stdin!.on('error', () => undefined);
    try {
      await jailed(child);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    child.unref();
    return { child, socket, calls: callsOver(socket, { idleConnectionTimeoutMs: IDLE_MS }) };
  }
}

/** Settles when the program is loaded and nothing is left to it but the volumes. */
function jailed(child: ChildProcess): Promise<void> {
  let output = '';
  let diagnostics = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(
        new DriverError('unsupported', 'The process for files of volumes cannot be started on this host.', {
          detail: `${why} ${diagnostics}`.trim(),
        }),
      );
    };
    const timer = setTimeout(() => fail('It took too long.'), START_MS);
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      diagnostics = `${diagnostics}${text}`.slice(-2_000);
    });
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-2_000);
      if (output === 'loaded\n') child.stdin!.end('\n');
      if (!output.includes('jailed\n')) return;
      clearTimeout(timer);
      // It has no more to say, and an attacker in it must not fill the memory of this process.
      child.stdout!.destroy();
      resolve();
    });
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`It ended with ${code}.`));
  });
}

function programPath(): string {
  const found = ['./volume-program.js', './volume-program.ts']
    .map((name) => fileURLToPath(new URL(name, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('the program of the volume process is missing beside the driver');
  return found;
}
