import type { TestServer } from './server.js';

/** Lets the next ends of sandboxes fail before anything is done. @returns how many of them are still to come */
export function failEnds({ server }: TestServer, count: number): { left: number } {
  const failures = { left: count };
  const context = server.context as { sandboxClosed: (typeof server.context)['sandboxClosed'] };
  const real = context.sandboxClosed;
  context.sandboxClosed = (...args) => {
    if (failures.left > 0) {
      failures.left -= 1;
      throw new Error('not now');
    }
    real(...args);
  };
  return failures;
}
