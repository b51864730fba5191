import { KeyedMutex } from '@svc/support/keyed-mutex';
import { describe, expect, it } from 'vitest';
import { gate } from './gate.js';

describe('the keyed mutex', () => {
  it('keeps the order within a key and lets other keys pass', async () => {
    const mutex = new KeyedMutex();
    const seen: string[] = [];
    let release!: () => void;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = mutex.run('a', () => gate.then(() => seen.push('a1')));
    const failed = mutex.run('a', () => Promise.reject(new Error('broken')));
    const third = mutex.run('a', async () => seen.push('a3'));
    await mutex.run('b', async () => seen.push('b1'));
    release();
    await expect(failed).rejects.toThrow('broken');
    await Promise.all([first, third, mutex.idle()]);
    expect(seen).toEqual(['b1', 'a1', 'a3']);
  });

  it('runs tasks of one key one after another, also after a failure; others do not wait', async () => {
    const turns = new KeyedMutex();
    const done: string[] = [];
    const first = gate();
    const failing = turns.run('a', async () => {
      await first.opened;
      done.push('first');
      throw new Error('failed');
    });
    const second = turns.run('a', async () => done.push('second'));
    await turns.run('b', async () => done.push('other'));
    expect(done).toEqual(['other']);
    first.open();
    await expect(failing).rejects.toThrow('failed');
    await second;
    expect(done).toEqual(['other', 'first', 'second']);
  });
});
