import { randomInt } from 'node:crypto';
import type { Questions } from '../control/questions.js';
import type { EgressSandbox } from '../control/types.js';
import { DialError } from '../failures/dial-error.js';
import { within } from '../failures/within.js';
import { addressesOf, addressQuery } from './message.js';

/** Resolves the names that flows were allowed by, anew for each. */
export class NameResolver {
  readonly #questions: Questions;

  constructor(questions: Questions) {
    this.#questions = questions;
  }

  /** Gives IPv4 addresses: sandboxes have no other way out. @throws {DialError} */
  async resolve(sandbox: EgressSandbox, name: string, signal: AbortSignal): Promise<string[]> {
    const query = addressQuery(randomInt(0x10000), name);
    const reply = await within(
      signal,
      this.#questions.dns(sandbox, query).catch(() => {
        throw new DialError('name not resolved');
      }),
    );
    return addressesOf(Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength)).addresses;
  }
}
