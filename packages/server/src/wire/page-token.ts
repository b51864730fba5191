import { errors } from '../errors/catalog.js';

/** Where the next page of a list starts: after the row with this time and id. */
export interface PagePosition {
  /** ms since the epoch. */
  atMs: number;
  id: string;
}

/** Packs a position into the opaque text of `X-Next-Token`. */
export function encodePageToken(position: PagePosition): string {
  return Buffer.from(JSON.stringify([position.atMs, position.id])).toString('base64url');
}

/** @throws {ApiError} 400 `Invalid next token` */
export function decodePageToken(token: string): PagePosition {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    throw errors.invalidNextToken();
  }
  if (!Array.isArray(parts) || parts.length !== 2) throw errors.invalidNextToken();
  const [atMs, id] = parts as unknown[];
  if (!Number.isSafeInteger(atMs) || typeof id !== 'string' || id.length > 200)
    throw errors.invalidNextToken();
  return { atMs: atMs as number, id };
}

/**
 * Cuts a page out of rows that were read with one more than its size.
 * @returns the rows of the page, and the headers that lead on.
 */
export function cutPage<Row>(
  rows: Row[],
  limit: number,
  position: (row: Row) => PagePosition,
): { rows: Row[]; headers: Record<string, string> } {
  if (rows.length <= limit) return { rows, headers: {} };
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page,
    headers: last === undefined ? {} : { 'X-Next-Token': encodePageToken(position(last)) },
  };
}
