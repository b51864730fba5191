import { expect, it } from 'vitest';
import type { Log } from '../../src/context.js';
import { installLastResort } from '../../src/start/last-resort.js';

it('an error that nobody caught is logged and ends nothing; a storm of them ends the process', () => {
  const logged: object[] = [];
  const exits: number[] = [];
  // The handlers of the test runner must not see what is emitted here.
  const own = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const log = { error: (fields: object) => logged.push(fields) } as unknown as Log;
  const remove = installLastResort(log, (code) => exits.push(code));
  try {
    for (let count = 1; count <= 20; count += 1)
      process.emit('uncaughtException', new Error('met by one sandbox'));
    expect(logged).toHaveLength(20);
    expect(exits).toEqual([]);
    process.emit('uncaughtException', new Error('again'));
    expect(exits).toEqual([1]);
  } finally {
    remove();
    for (const listener of own) process.on('uncaughtException', listener);
  }
  expect(process.listeners('uncaughtException')).toEqual(own);
});
