import { type Expression, type SqlBool, sql } from 'kysely';

export type Order = 'asc' | 'desc';

/** The last item of a page: the next one starts strictly after it. */
export interface PageKey {
  atMs: number;
  id: string;
}

/**
 * Rows that come after one in a list by time and id, each in its own order. The time alone is compared first: an index serves that.
 */
export function afterKey(
  { atMs, id }: PageKey,
  by: { time: string; id: string },
  order: { time: Order; id: Order },
): Expression<SqlBool> {
  const time = sql.ref(by.time);
  const beyond = (direction: Order) => sql.raw(direction === 'asc' ? '>' : '<');
  return sql<SqlBool>`${time} ${beyond(order.time)}= ${atMs} and (${time} ${beyond(order.time)} ${atMs} or ${sql.ref(by.id)} ${beyond(order.id)} ${id})`;
}
