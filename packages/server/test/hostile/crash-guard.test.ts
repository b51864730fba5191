import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Log } from '../../src/api/context/context.js';
import { installCrashGuard } from '../../src/process/crash-guard.js';

let logged: { err?: Error }[];
let ends: number;
let exits: number[];
let remove: () => void;
let ended: () => void;
let own: { exception: NodeJS.UncaughtExceptionListener[]; rejection: NodeJS.UnhandledRejectionListener[] };

beforeEach(() => {
  logged = [];
  ends = 0;
  exits = [];
  // The handlers of the test runner must not see what is emitted here.
  own = {
    exception: process.listeners('uncaughtException'),
    rejection: process.listeners('unhandledRejection'),
  };
  process.removeAllListeners('uncaughtException').removeAllListeners('unhandledRejection');
  remove = installCrashGuard({
    log: { error: (fields: object) => logged.push(fields) } as unknown as Log,
    end: () => {
      ends++;
      return new Promise<void>((resolve) => {
        ended = resolve;
      });
    },
    exit: (code) => exits.push(code),
  });
});
afterEach(() => {
  remove();
  const left = [process.listenerCount('uncaughtException'), process.listenerCount('unhandledRejection')];
  for (const listener of own.exception) process.on('uncaughtException', listener);
  for (const listener of own.rejection) process.on('unhandledRejection', listener);
  expect(left).toEqual([0, 0]);
});

const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const settled = () => new Promise(setImmediate);

it('an error of one connection, and a promise that failed, are logged and end nothing', () => {
  process.emit('uncaughtException', reset());
  process.emit('unhandledRejection', new Error('met by one sandbox'), Promise.resolve());
  expect(logged.map(({ err }) => err?.message)).toEqual(['read ECONNRESET', 'met by one sandbox']);
  expect([ends, exits]).toEqual([0, []]);
});

it('any other exception is logged with its stack and ends the server in order, once, with code 1', async () => {
  process.emit('uncaughtException', new TypeError('out of nowhere'));
  process.emit('uncaughtException', new TypeError('and another'));
  expect(logged[0]?.err?.stack).toContain('crash-guard.test');
  await settled();
  expect([ends, exits]).toEqual([1, []]);
  ended();
  await settled();
  expect([ends, exits]).toEqual([1, [1]]);
});

it('a storm of survived errors ends the server too', async () => {
  for (let count = 1; count <= 20; count += 1) process.emit('uncaughtException', reset());
  expect([logged.length, ends]).toEqual([20, 0]);
  process.emit('uncaughtException', reset());
  ended();
  await settled();
  expect([ends, exits]).toEqual([1, [1]]);
});
