import type { operatorComponents } from '@svc/platform/operator';
import type { Selectable } from 'kysely';
import { otherWork } from '../../storage/delete-in-batches.js';
import type { Order } from '../../storage/keyset.js';
import type { AuditEntriesTable, Database } from '../../storage/schema.js';
import { decodeNextToken, encodeNextToken, type Page } from '../wire/next-token.js';
import { isoTime } from '../wire/time.js';
import { leastEntryId } from './entry.js';

type AuditRow = Selectable<AuditEntriesTable>;
type Outcome = 'succeeded' | 'refused' | 'failed' | 'unfinished';

interface AuditFilter {
  teamId?: string | undefined;
  /** `operator`, `system`, `key`; or the id of a key, the reason of the service, or `dashboard`. */
  actor?: string | undefined;
  operation?: string | undefined;
  resourceId?: string | undefined;
  outcome?: Outcome | undefined;
  /** First and last but one moment, ms since the epoch. */
  fromMs?: number | undefined;
  untilMs?: number | undefined;
}

/** Entries that one statement looks at: SQLite runs it on the server's only thread. */
const SCANNED = 2_000;
/** Statements for one page. A page may end early, and empty, but never without the token of the next one. */
const MOST_SCANS = 50;

/**
 * A page of the audit trail, newest first unless asked otherwise. What has no index is looked for in parts with other work
 * in between, however rare it is.
 * @throws {ApiError} 400 for a cursor that cannot be read
 */
export async function listEntries(
  context: { db: Database },
  options: { filter: AuditFilter; limit: number; order: Order; nextToken?: string | undefined },
): Promise<Page<AuditRow>> {
  const { filter, limit, order } = options;
  let after = decodeNextToken(options.nextToken, order)?.id;
  const rows: AuditRow[] = [];
  for (let scan = 0; scan < MOST_SCANS; scan += 1) {
    const scanned = await readPart(context, filter, order, after);
    for (const row of scanned) {
      if (rows.length === limit) return pageOf(rows, rows.at(-1), order);
      if (fits(row, filter)) rows.push(row);
    }
    const last = scanned.at(-1);
    if (scanned.length < SCANNED || last === undefined) return pageOf(rows, undefined, order);
    after = last.id;
    if (scan === MOST_SCANS - 1) return pageOf(rows, last, order);
    await otherWork();
  }
  return pageOf(rows, undefined, order);
}

function pageOf(rows: AuditRow[], last: AuditRow | undefined, order: Order): Page<AuditRow> {
  if (last === undefined) return { rows, nextToken: undefined, headers: {} };
  const nextToken = encodeNextToken({ atMs: last.at, id: last.id }, order);
  return { rows, nextToken, headers: { 'X-Next-Token': nextToken } };
}

/** The next entries that indexes find: by team or resource, and by time. */
function readPart(
  { db }: { db: Database },
  filter: AuditFilter,
  order: Order,
  after: string | undefined,
): Promise<AuditRow[]> {
  let select = db.selectFrom('audit_entries').selectAll();
  if (filter.teamId !== undefined) select = select.where('team_id', '=', filter.teamId);
  if (filter.resourceId !== undefined) select = select.where('resource_id', '=', filter.resourceId);
  if (filter.fromMs !== undefined) select = select.where('id', '>=', leastEntryId(filter.fromMs));
  if (filter.untilMs !== undefined) select = select.where('id', '<', leastEntryId(filter.untilMs));
  if (after !== undefined) select = select.where('id', order === 'asc' ? '>' : '<', after);
  return select.orderBy('id', order).limit(SCANNED).execute();
}

function fits(row: AuditRow, { actor, operation, outcome }: AuditFilter): boolean {
  return (
    (actor === undefined || row.actor_kind === actor || row.actor_id === actor) &&
    (operation === undefined || row.operation === operation) &&
    (outcome === undefined || outcomeOf(row.status) === outcome)
  );
}

/** Returns the outcome that a status stands for. Pure. */
export function outcomeOf(status: number | null): Outcome {
  if (status === null) return 'unfinished';
  if (status < 400) return 'succeeded';
  return status < 500 ? 'refused' : 'failed';
}

type WireEntry = operatorComponents['schemas']['AuditEntry'];

export function entryToWire(row: AuditRow): WireEntry {
  return {
    id: row.id,
    at: isoTime(row.at),
    actor: { kind: row.actor_kind, ...(row.actor_id === null ? {} : { id: row.actor_id }) },
    operation: row.operation,
    ...(row.resource_kind === null
      ? {}
      : {
          resource: { kind: row.resource_kind, ...(row.resource_id === null ? {} : { id: row.resource_id }) },
        }),
    ...(row.team_id === null ? {} : { teamID: row.team_id }),
    outcome: outcomeOf(row.status),
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.finished_at === null ? {} : { durationMs: Math.max(0, row.finished_at - row.at) }),
    ...(row.request_id === null ? {} : { requestID: row.request_id }),
    ...(row.client_address === null ? {} : { clientAddress: row.client_address }),
    nodeID: row.node_id,
  };
}
