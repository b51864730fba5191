import { describe, expect, it } from 'vitest';
import { RetryLater } from '../../src/shared/retry-later.js';

describe('clean-up that fails', () => {
  it('is reported, keeps nobody waiting, and is tried again until it succeeds', async () => {
    let failures = 2;
    const reported: string[] = [];
    let succeeded = () => {};
    const done = new Promise<void>((resolve) => {
      succeeded = resolve;
    });
    const later = new RetryLater({ onFailure: (name) => reported.push(name), intervalMs: 1 });
    const task = async () => {
      if (failures-- > 0) throw new Error('busy');
      succeeded();
    };
    expect(await later.attempt('the tree', task)).toBe(false);
    expect(later.waiting).toEqual(['the tree']);
    await done;
    expect(reported).toEqual(['the tree', 'the tree']);
    expect(later.waiting).toEqual([]);
    later.close();
  });

  it('is left to the next start once it is closed', async () => {
    let tries = 0;
    const later = new RetryLater({ onFailure: () => {}, intervalMs: 1 });
    later.close();
    await later.attempt('the tree', async () => {
      tries += 1;
      throw new Error('busy');
    });
    await later.retry();
    expect(tries).toBe(1);
  });
});
