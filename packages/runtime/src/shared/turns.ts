import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest that one piece of work may block this process, ms. */
const TURN_MS = 5;

/** Gives others a turn in work that a tenant can make long. */
export class Turns {
  #sinceMs = performance.now();

  /** To be called often: settles at once until a turn is over. */
  async give(): Promise<void> {
    if (performance.now() - this.#sinceMs < TURN_MS) return;
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
