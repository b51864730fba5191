import { sleep } from './sleep.js';

/**
 * Asks until the answer is neither undefined nor false, and returns it. A question that throws is asked again.
 * @throws {Error} naming `what` when the time (30 s unless told otherwise) is over
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause: last });
    await sleep(10);
  }
}
