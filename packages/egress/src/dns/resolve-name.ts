import { randomInt } from 'node:crypto';
import type { EgressSandbox } from '../control/types.js';
import { DialError } from '../failures/dial-error.js';
import { within } from '../failures/within.js';
import { addressesOf, addressQuery } from './message.js';
import type { Names } from './names.js';

/** Resolves the names that flows were allowed by, anew for each. */
export class NameResolver {
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  /** Gives IPv4 addresses: sandboxes have no other way out. @throws {DialError} */
  async resolve(sandbox: EgressSandbox, name: string, signal: AbortSignal): Promise<string[]> {
    const query = addressQuery(randomInt(0x10000), name);
    const reply = await within(
      signal,
      this.#names.ask(sandbox, query).catch(() => {
        throw new DialError('name not resolved');
      }),
    );
    return addressesOf(reply).addresses;
  }
}
