import { setTimeout as pause } from 'node:timers/promises';

/** Asks until the answer is not undefined. @throws {Error} naming `what` when the time is over, with the last failure. */
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
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause: last });
    await pause(25);
  }
}
