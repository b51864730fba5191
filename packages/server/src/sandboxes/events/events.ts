import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import { isoTime } from '../../api/wire/time.js';
import { fromJson } from '../../storage/json.js';
import type { Database, EventsTable } from '../../storage/schema.js';

interface EventQuery {
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

type Event = components['schemas']['LifecycleEvent'];
type Payload = components['schemas']['WebhookPayload'];

const VERSION = 'v2';

const LABELS: Record<string, string | undefined> = {
  'sandbox.lifecycle.created': 'create',
  'sandbox.lifecycle.killed': 'kill',
  'sandbox.lifecycle.paused': 'pause',
  'sandbox.lifecycle.resumed': 'resume',
  'sandbox.lifecycle.updated': 'update',
};

/** An event as the events API shows it. */
function eventToWire(row: Selectable<EventsTable>): Event {
  const label = LABELS[row.type];
  return {
    id: row.id,
    version: VERSION,
    type: row.type as Event['type'],
    timestamp: isoTime(row.at),
    eventCategory: 'lifecycle',
    ...(label === undefined ? {} : { eventLabel: label }),
    eventData: fromJson(row.data),
    sandboxId: row.sandbox_id,
    sandboxExecutionId: row.execution_id,
    sandboxTemplateId: row.template_id,
    sandboxBuildId: row.build_id,
    sandboxTeamId: row.team_id,
  };
}

/** The same event as the body of a delivery. */
export function eventToPayload(row: Selectable<EventsTable>): Payload {
  return {
    id: row.id,
    version: VERSION,
    type: row.type as Payload['type'],
    timestamp: isoTime(row.at),
    event_data: fromJson(row.data),
    sandbox_id: row.sandbox_id,
    sandbox_execution_id: row.execution_id,
    sandbox_template_id: row.template_id,
    sandbox_build_id: row.build_id,
    sandbox_team_id: row.team_id,
  };
}
