import { describe, expect, it, onTestFinished } from 'vitest';
import { isFromNode, issueNodeToken } from '../../src/cluster/nodes/node-token.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { ReadCache } from '../../src/storage/read-cache.js';
import { createTestStorage } from '../support/storage.js';

describe('what was read', () => {
  const setUp = async () => {
    const stored = await createTestStorage('sqlite');
    const { db, writes } = await stored.open();
    onTestFinished(async () => {
      await db.destroy();
      await stored.remove();
    });
    let clock = 10_000;
    let reads = 0;
    const cache = new ReadCache<number>({
      writes,
      tables: ['templates'],
      ttlMs: 1_000,
      now: () => clock,
    });
    const read = () => cache.get('key', async () => (reads += 1));
    return { db, cache, read, advance: (ms: number) => (clock += ms) };
  };

  it('is kept for a while', async () => {
    const { read, advance } = await setUp();
    expect([await read(), await read()]).toEqual([1, 1]);
    advance(1_000);
    expect(await read()).toBe(2);
  });
  it('is forgotten at every write of its tables, and not kept until the writer has surely committed', async () => {
    const { db, read, advance } = await setUp();
    await read();
    await db.deleteFrom('templates').where('id', '=', 'x').execute();
    expect([await read(), await read()]).toEqual([2, 3]);
    advance(2_000);
    expect([await read(), await read()]).toEqual([4, 4]);
  });
  it('outlives writes of other tables and of mere counters', async () => {
    const { db, read } = await setUp();
    await read();
    await db.deleteFrom('secrets').where('id', '=', 'x').execute();
    await db
      .updateTable('templates')
      .set({ spawn_count: 1, last_spawned_at: 2 })
      .where('id', '=', 'x')
      .execute();
    expect(await read()).toBe(1);
    await db.updateTable('templates').set({ spawn_count: 1, public: 1 }).where('id', '=', 'x').execute();
    expect(await read()).toBe(2);
  });
  it('is not kept when it failed or when a write came during the read', async () => {
    const { cache, read } = await setUp();
    await expect(cache.get('bad', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await cache.get('key', async () => {
      cache.forget();
      return 99;
    });
    expect(await read()).toBe(1);
  });
});

describe('the token between nodes', () => {
  const keys = createKeyRing(Buffer.alloc(32, 1));
  const request = { from: 'a', to: 'b', method: 'GET', url: '/sandboxes/i1?x=1' };
  const token = issueNodeToken(keys, request, 1_000_000);
  it('holds for its request, for a minute', () => {
    expect(isFromNode(keys, token, request, 1_000_000)).toBe(true);
    expect(isFromNode(keys, token, request, 1_060_001)).toBe(false);
    expect(isFromNode(keys, token, request, 939_999)).toBe(false);
  });
  it.each([
    ['another method', token, { ...request, method: 'DELETE' }],
    ['another path', token, { ...request, url: '/sandboxes/i2' }],
    ['another sender', token.replace('a.', 'c.'), request],
    ['no text', undefined, request],
    ['a part too many', `${token}.x`, request],
    ['a short text', 'a.b', request],
  ])('does not hold for %s', (_name, header, given) => {
    expect(isFromNode(keys, header, given, 1_000_000)).toBe(false);
  });
  it('does not hold under another key', () => {
    expect(isFromNode(createKeyRing(Buffer.alloc(32, 2)), token, request, 1_000_000)).toBe(false);
  });
});
