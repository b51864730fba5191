import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks until the answer is truthy, at most `timeoutMs` (default 150 s: a wait that ends well costs a busy machine nothing), and returns
 * it. A question that throws is asked again.
 * @throws {Error} naming `what` when the time is over, with what was thrown last as its cause
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T> | T,
  timeoutMs = 150_000,
): Promise<Exclude<NonNullable<T>, false>> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer as Exclude<NonNullable<T>, false>;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause: last });
    await sleep(10);
  }
}
