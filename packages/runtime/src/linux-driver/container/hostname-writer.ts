import { type ChildProcess, spawn } from 'node:child_process';
import { DriverError } from '../../contract/errors.js';
import { assetPath } from '../../shared/assets.js';
import { TOOL_PATH } from '../../shared/script-environment.js';
import type { NameWriter } from '../tiers/tier.js';

const PATIENCE_MS = 10_000;

/**
 * A shell that waits inside an instance's host-name namespace for the one name to give. Starting a process takes longer
 * than everything else that handing out a pooled instance needs, so it is started while the instance waits in the pool.
 * It ends with this process, because the pipe is closed then.
 */
export class HostnameWriter implements NameWriter {
  readonly inside = false;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #stderr = '';

  /** @param pid a process of the instance. */
  constructor(pid: number) {
    this.#child = spawn('nsenter', [`--uts=/proc/${pid}/ns/uts`, 'sh', assetPath('name-machine.sh')], {
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { PATH: TOOL_PATH, LANG: 'C' },
    });
    this.#child.stdin!.on('error', () => undefined);
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', () => resolve(null));
      this.#child.once('exit', resolve);
    });
    // A waiting name must not keep the server from ending.
    this.#child.unref();
  }

  /** Gives the name. @throws {DriverError} `create_failed` */
  async write(name: string): Promise<void> {
    this.#child.ref();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    this.#child.stdin!.end(`${name}\n`);
    const code = await this.#ended;
    clearTimeout(timer);
    if (code !== 0)
      throw new DriverError('create_failed', 'The sandbox could not be named.', { detail: this.#stderr });
  }

  /** Releases it without a name; settles when it has exited. */
  async end(): Promise<void> {
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
