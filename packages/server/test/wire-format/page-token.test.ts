import { describe, expect, it } from 'vitest';
import { cutPage, decodePageToken, encodePageToken } from '../../src/wire/page-token.js';

describe('page tokens', () => {
  it('come back as the position they were made of', () => {
    const position = { atMs: 1_790_000_000_123, id: 'iabc' };
    expect(decodePageToken(encodePageToken(position))).toEqual(position);
  });

  it.each([
    '',
    'x',
    '!!!',
    Buffer.from('[1]').toString('base64url'),
    Buffer.from('["a","b"]').toString('base64url'),
  ])('refuses %j', (token) => {
    expect(() => decodePageToken(token)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('pages', () => {
  const rows = [3, 2, 1].map((atMs) => ({ atMs, id: `r${atMs}` }));

  it('lead on from their last row when there is more', () => {
    const page = cutPage(rows, 2, (row) => row);
    expect(page.rows).toEqual(rows.slice(0, 2));
    expect(decodePageToken(page.headers['X-Next-Token'] ?? '')).toEqual(rows[1]);
  });

  it('end without a token', () => {
    expect(cutPage(rows, 3, (row) => row)).toEqual({ rows, headers: {} });
  });
});
