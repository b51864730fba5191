import { describe, expect, it } from 'vitest';
import { PageList } from '../../src/core/page.js';

function letters(size = 2) {
  const all = ['a', 'b', 'c', 'd', 'e'];
  const asked: (string | undefined)[] = [];
  const list = new PageList<string>(async (token) => {
    asked.push(token);
    const from = Number(token ?? 0);
    const nextToken = from + size < all.length ? String(from + size) : undefined;
    return { items: all.slice(from, from + size), nextToken, total: undefined };
  });
  return { list, asked };
}

describe('PageList', () => {
  it('sends nothing before it is used', () => {
    expect(letters().asked).toEqual([]);
  });

  it('gives the first page when awaited', async () => {
    const { list, asked } = letters();
    expect(await list).toEqual({ items: ['a', 'b'], nextToken: '2', total: undefined });
    expect(asked).toEqual([undefined]);
  });

  it('walks over all items and fetches the first page once', async () => {
    const { list, asked } = letters();
    await list;
    expect(await list.toArray()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(asked).toEqual([undefined, '2', '4']);
  });

  it('fetches no more pages than are read', async () => {
    const { list, asked } = letters();
    expect(await list.toArray({ limit: 2 })).toEqual(['a', 'b']);
    expect(asked).toEqual([undefined]);
  });

  it('walks over pages', async () => {
    const sizes: number[] = [];
    for await (const page of letters().list.pages()) sizes.push(page.items.length);
    expect(sizes).toEqual([2, 2, 1]);
  });

  it('passes failures on to the caller who awaits', async () => {
    const list = new PageList(() => Promise.reject(new Error('no')));
    await expect(list).rejects.toThrow('no');
  });
});
