import type { Order, PageKey } from '../../storage/keyset.js';
import { errors } from '../errors/catalog.js';
import { isoTime } from './time.js';

export function encodeNextToken(key: PageKey, order: Order = 'desc'): string {
  const text = `${isoTime(key.atMs)}__${key.id}${order === 'asc' ? '__asc' : ''}`;
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/**
 * Reads a cursor. Empty and absent mean the start. What it says of the last item is checked: it comes from outside.
 * @throws {ApiError} 400 when it cannot be read or is one of the other order.
 */
export function decodeNextToken(token: string | undefined, order: Order = 'desc'): PageKey | undefined {
  if (token === undefined || token === '') return undefined;
  if (!/^[A-Za-z0-9_-]+={0,2}$/.test(token)) throw errors.invalidNextToken();
  const parts = Buffer.from(token, 'base64url').toString('utf8').split('__');
  const [time = '', id = '', direction] = parts;
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(time) ? Date.parse(time) : Number.NaN;
  const wanted = order === 'asc' ? 3 : 2;
  if (parts.length !== wanted || Number.isNaN(atMs) || !/^[a-z0-9_-]+$/.test(id))
    throw errors.invalidNextToken();
  if (order === 'asc' && direction !== 'asc') throw errors.invalidNextToken();
  return { atMs, id };
}

/** A page, and what leads on from it: absent when it is the last. */
export interface Page<Row> {
  rows: Row[];
  nextToken: string | undefined;
  /** `X-Next-Token`, or nothing. */
  headers: Record<string, string>;
}

/**
 * Cuts a page out of rows that were read with one more than its size.
 * @param limit undefined: the rows are all there is
 */
export function cutPage<Row>(
  rows: Row[],
  limit: number | undefined,
  keyOf: (row: Row) => PageKey,
  order: Order = 'desc',
): Page<Row> {
  if (limit === undefined || rows.length <= limit) return { rows, nextToken: undefined, headers: {} };
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (last === undefined) return { rows: page, nextToken: undefined, headers: {} };
  const nextToken = encodeNextToken(keyOf(last), order);
  return { rows: page, nextToken, headers: { 'X-Next-Token': nextToken } };
}
