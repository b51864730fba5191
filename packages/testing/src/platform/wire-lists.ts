import { Refusal } from '../answers/refusal.js';

export type Order = 'asc' | 'desc';

/** Where an item stands in a list. */
export interface Place {
  atMs: number;
  id: string;
}

/**
 * One page of a list by time: newest first and equal times by id, ascending the exact reverse. The cursor names the last
 * item, so that what comes and goes meanwhile moves no page.
 * @throws Refusal 400 for a cursor that is none, or one of the other order
 */
export function pageOf<Item>(
  items: readonly Item[],
  placeOf: (item: Item) => Place,
  {
    order = 'desc',
    limit,
    nextToken,
  }: { order?: Order; limit: number | undefined; nextToken?: string | undefined },
): { items: Item[]; headers: Record<string, string> } {
  const compare = (a: Place, b: Place) => {
    const newestFirst = b.atMs - a.atMs || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
    return order === 'desc' ? newestFirst : -newestFirst;
  };
  const after = readToken(nextToken, order);
  const rest = items
    .map((item) => ({ item, place: placeOf(item) }))
    .filter(({ place }) => after === undefined || compare(place, after) > 0)
    .sort((a, b) => compare(a.place, b.place));
  const page = limit === undefined ? rest : rest.slice(0, limit);
  const last = page.at(-1);
  const headers: Record<string, string> =
    last && page.length < rest.length ? { 'X-Next-Token': writeToken(last.place, order) } : {};
  return { items: page.map(({ item }) => item), headers };
}

function writeToken({ atMs, id }: Place, order: Order): string {
  const text = `${new Date(atMs).toISOString()}__${id}${order === 'asc' ? '__asc' : ''}`;
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_');
}

function readToken(token: string | undefined, order: Order): Place | undefined {
  if (token === undefined || token === '') return undefined;
  const refused = new Refusal(400, 'Invalid next token');
  if (!/^[A-Za-z0-9_-]+={0,2}$/.test(token)) throw refused;
  let text: string;
  try {
    text = atob(token.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    throw refused;
  }
  const [time = '', id = '', direction, ...more] = text.split('__');
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(atMs) || !/^[a-z0-9_-]+$/.test(id) || more.length > 0) throw refused;
  if (direction !== (order === 'asc' ? 'asc' : undefined)) throw refused;
  return { atMs, id };
}
