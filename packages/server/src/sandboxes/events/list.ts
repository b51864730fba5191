import type { components } from '@svc/platform';
import type { Database } from '../../storage/schema.js';
import { eventToWire } from './wire.js';

export interface EventQuery {
  offset?: number | undefined;
  limit?: number | undefined;
  orderAsc?: boolean | undefined;
  types?: string[] | undefined;
}

/** Events of a team, of one sandbox where it is named. Newest first unless asked otherwise. */
export async function listEvents(
  db: Database,
  teamId: string,
  query: EventQuery & { sandboxId?: string },
): Promise<components['schemas']['LifecycleEvent'][]> {
  const direction = query.orderAsc === true ? 'asc' : 'desc';
  let select = db.selectFrom('events').selectAll().where('team_id', '=', teamId);
  if (query.sandboxId !== undefined) select = select.where('sandbox_id', '=', query.sandboxId);
  if (query.types !== undefined && query.types.length > 0) select = select.where('type', 'in', query.types);
  const rows = await select
    .orderBy('at', direction)
    .orderBy('seq', direction)
    .limit(query.limit ?? 10)
    .offset(query.offset ?? 0)
    .execute();
  return rows.map(eventToWire);
}
