import { describe, expect, it } from 'vitest';
import { KeyedTurns } from '../../src/copies/keyed-turns.js';
import { Places } from '../../src/copies/places.js';

function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('turns', () => {
  it('of one key come one after another, also after a failure; others do not wait', async () => {
    const turns = new KeyedTurns();
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

describe('places', () => {
  it('are as many as there are, and go to who waits first', async () => {
    const places = new Places(2);
    const gates = [gate(), gate(), gate(), gate()];
    const begun: number[] = [];
    const work = gates.map(({ opened }, index) =>
      places.with(async () => {
        begun.push(index);
        await opened;
        if (index === 0) throw new Error('failed');
      }),
    );
    const failed = expect(work[0]).rejects.toThrow('failed');
    await Promise.resolve();
    expect(begun).toEqual([0, 1]);
    gates[0]!.open();
    await failed;
    gates[1]!.open();
    await work[1];
    expect(begun).toEqual([0, 1, 2, 3]);
    gates[2]!.open();
    gates[3]!.open();
    await Promise.all(work.slice(1));
    await places.with(async () => begun.push(4));
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });
});
