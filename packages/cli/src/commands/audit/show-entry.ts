import type { AuditEntry } from '@svc/sdk/operator';
import type { Style } from '../../output/style.js';
import { type Column, printable } from '../../output/table.js';

const actorOf = ({ actor: { kind, id } }: AuditEntry) => (id === undefined ? kind : `${kind} ${id}`);
const resourceOf = ({ resource }: AuditEntry) =>
  resource === undefined ? undefined : [resource.kind, resource.id].filter(Boolean).join(' ');
const outcomeOf = ({ outcome, status }: AuditEntry) =>
  status === undefined ? outcome : `${outcome} ${status}`;

/** Entries as a table. */
export const entryColumns: readonly Column<AuditEntry>[] = [
  { head: 'TIME', value: ({ at }) => at.toISOString() },
  { head: 'WHO', value: actorOf },
  { head: 'WHAT', value: ({ operation }) => operation },
  { head: 'RESOURCE', value: resourceOf },
  { head: 'TEAM', value: ({ teamId }) => teamId },
  { head: 'OUTCOME', value: outcomeOf },
  { head: 'FROM', value: ({ clientAddress }) => clientAddress },
  { head: 'REQUEST', value: ({ requestId }) => requestId },
];

/** One entry on one line, for lists without an end. Pure. */
export function formatEntry(entry: AuditEntry, style: Style): string {
  const mark = {
    succeeded: style.green,
    refused: style.yellow,
    failed: style.red,
    unfinished: style.dim,
  }[entry.outcome];
  return [
    style.dim(entry.at.toISOString()),
    mark(outcomeOf(entry)),
    entry.operation,
    resourceOf(entry),
    `by ${actorOf(entry)}`,
    entry.teamId === undefined ? undefined : `team ${entry.teamId}`,
    entry.clientAddress === undefined ? undefined : `from ${entry.clientAddress}`,
    entry.requestId === undefined ? undefined : `request ${entry.requestId}`,
  ]
    .filter((part) => part !== undefined)
    .map(printable)
    .join('  ');
}
