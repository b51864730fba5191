import { describe, expect, it } from 'vitest';
import { cutPage, decodeNextToken, encodeNextToken } from '../../src/api/wire/next-token.js';

const text = (token: string) => Buffer.from(token).toString('base64url');

describe('cursors', () => {
  it('come back as they were, in their own order only', () => {
    const key = { atMs: 1_700_000_000_123, id: 'iabc' };
    expect(decodeNextToken(encodeNextToken(key))).toEqual(key);
    expect(decodeNextToken(encodeNextToken(key, 'asc'), 'asc')).toEqual(key);
    expect(decodeNextToken('')).toBeUndefined();
    for (const [token, order] of [
      [encodeNextToken(key), 'asc'],
      [encodeNextToken(key, 'asc'), 'desc'],
      ['!', 'desc'],
      ['YWJj', 'desc'],
    ] as const)
      expect(() => decodeNextToken(token, order)).toThrow('Invalid next token');
  });

  it.each([
    'x',
    '!!!',
    text('2026-01-31T12:00:00.000Z'),
    text('yesterday__iabc'),
    text('2026-01-31T12:00:00.000Z__a\0b'),
    text('2026-01-31T12:00:00.000Z__iabc__up'),
  ])('are refused when they were not made here: %j', (token) => {
    expect(() => decodeNextToken(token)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('pages', () => {
  const rows = [3, 2, 1].map((atMs) => ({ atMs, id: `r${atMs}` }));

  it('lead on from their last row when there is more', () => {
    const page = cutPage(rows, 2, (row) => row);
    expect(page.rows).toEqual(rows.slice(0, 2));
    expect(decodeNextToken(page.headers['X-Next-Token'] ?? '')).toEqual(rows[1]);
  });

  it('end without a token', () => {
    for (const limit of [3, 4, undefined])
      expect(cutPage(rows, limit, (row) => row)).toEqual({ rows, nextToken: undefined, headers: {} });
  });
});
