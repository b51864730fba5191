import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { DAEMON } from '../../agent/agent.js';
import { DriverError } from '../../contract/errors.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';
import type { NameWriter } from '../tiers/tier.js';

const TIMEOUT_MS = 10_000;
/** The daemon's program names the machine too, regardless of the root file system. */
const PROGRAM = [DAEMON, 'hostname'];
/** Reads the name from its input. */
const WAITING = [...PROGRAM, '-'];
/** Only the kernel of the sandbox knows of this right: it is no right on the host. */
const RIGHT = 'CAP_SYS_ADMIN';

/** Names a running instance, by a program inside: nobody else can. @throws {DriverError} `restore_failed` */
export async function nameGuest(
  host: LinuxHost,
  command: readonly string[],
  entry: InstanceEntry,
  name: string,
): Promise<void> {
  const words = [...command, 'exec', '--cap', RIGHT, '--user', '0', entry.name, ...PROGRAM, name];
  await host.store.run(
    { name: 'gvisor_exec', arguments: words },
    { code: 'restore_failed', message: 'The sandbox could not be named.', timeoutMs: TIMEOUT_MS },
  );
}

/**
 * A program inside an instance that waits for the one name to give. To start it takes longer than everything else that
 * handing out a pooled instance needs, so it is started before the instance is parked.
 */
export class GuestNameWriter implements NameWriter {
  readonly inside = true;
  readonly #input: number;
  readonly #output: number;
  #open = true;

  private constructor(input: number, output: number) {
    this.#input = input;
    this.#output = output;
  }

  /** @param command see `runscCommand`. */
  static async start(host: LinuxHost, command: readonly string[], entry: InstanceEntry): Promise<NameWriter> {
    const keeper = await host.up();
    const input = `/run/names/${entry.name}.in`;
    const output = `/run/names/${entry.name}.out`;
    await host.store.run({ name: 'gvisor_pipes', arguments: [input, output] }, { timeoutMs: TIMEOUT_MS });
    const writer = new GuestNameWriter(
      // Also readable, or opening it would wait for a reader.
      openSync(keeper.view(input), constants.O_RDWR),
      openSync(keeper.view(output), constants.O_RDONLY | constants.O_NONBLOCK),
    );
    // Without --pid-file the runtime adds one of its own, behind the words of the program.
    const pidFile = `/run/names/${entry.name}.pid`;
    const words = [...command, 'exec', '--detach', '--pid-file', pidFile, '--cap', RIGHT, '--user', '0'];
    try {
      await host.store.run(
        { name: 'gvisor_await', arguments: [input, output, pidFile, ...words, entry.name, ...WAITING] },
        { timeoutMs: TIMEOUT_MS },
      );
    } catch (error) {
      await writer.end();
      throw error;
    }
    return writer;
  }

  async write(name: string): Promise<void> {
    writeSync(this.#input, `${name}\n`);
    // The program inside reads the end of its input and ends, and with it the other pipe.
    closeSync(this.#input);
    this.#open = false;
    const output = new Socket({ fd: this.#output, readable: true, writable: false });
    const timer = setTimeout(
      () => output.destroy(new DriverError('create_failed', 'The sandbox could not be named in time.')),
      TIMEOUT_MS,
    );
    try {
      await finished(output.resume(), { writable: false });
    } finally {
      clearTimeout(timer);
      output.destroy();
    }
  }

  async end(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#input);
    closeSync(this.#output);
  }
}
