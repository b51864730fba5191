import { pause } from '../shared/abort.js';

/** Asks until the answer is not undefined. @throws {Error} naming `what` when 30 s have passed. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline)
      throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause: last });
    await pause(20);
  }
}
