import type { AuditEntry } from '@svc/sdk/operator';
import { formatDuration } from '../format/times.js';
import { Fact } from '../parts/fact.js';
import { Foreign, State } from '../parts/text.js';
import { formatRoute, type View } from '../router/route.js';

/** Reasons of the service, as `spec/operator.yaml` has them. */
const reasons: Readonly<Record<string, string>> = {
  timeout: 'its time was over',
  traffic: 'a request woke it',
  ended: 'its instance ended by itself',
  orphaned: 'a start of the server found it without what it needs',
};

/** Views of what entries are about. */
const viewsOf: Readonly<Record<string, View>> = {
  sandbox: 'sandboxes',
  template: 'templates',
  webhook: 'webhooks',
  team: 'teams',
};

const allBy: Readonly<Record<AuditEntry['actor']['kind'], string>> = {
  key: 'All by this key',
  operator: 'All by the operator',
  system: 'All for this reason',
};

/** The actor, in short. */
export function Actor({ actor: { kind, id } }: Pick<AuditEntry, 'actor'>) {
  if (id === undefined) return <>{kind}</>;
  return (
    <>
      {kind}{' '}
      <span class="faint" title={id}>
        {kind === 'key' ? <span class="id">{id.slice(0, 8)}…</span> : id}
      </span>
    </>
  );
}

/** The object of the act. */
export function Resource({ resource }: Pick<AuditEntry, 'resource'>) {
  if (resource === undefined) return <span class="faint">–</span>;
  return (
    <>
      {resource.kind} {resource.id !== undefined && <Id text={resource.id} />}
    </>
  );
}

/** The end of the act. */
export function Outcome({ outcome, status }: Pick<AuditEntry, 'outcome' | 'status'>) {
  return (
    <>
      <State state={outcome} /> <span class="faint">{status}</span>
    </>
  );
}

/** Everything that an entry says, and what leads on from it. */
export function Entry(props: {
  entry: AuditEntry;
  /** Names the team whose views are led to. */
  team: string;
  /** Address of the trail with filters. */
  addressOf: (query: Record<string, string>) => string;
}) {
  const { entry, team, addressOf } = props;
  const { actor, resource, operation, durationMs, requestId, clientAddress } = entry;
  const view = resource && viewsOf[resource.kind];
  // Later entries do not push it away.
  const until = new Date(entry.at.getTime() + 1).toISOString();
  return (
    <div class="entry-detail">
      <dl class="facts">
        <Fact name="Began">{entry.at.toISOString()}</Fact>
        <Fact name="Who">
          {actor.kind} {actor.id !== undefined && <Id text={actor.id} />}
          {actor.kind === 'system' && actor.id !== undefined && reasons[actor.id] !== undefined && (
            <span class="faint"> {reasons[actor.id]}</span>
          )}
        </Fact>
        <Fact name="What">{operation}</Fact>
        <Fact name="Resource">
          <Resource resource={resource} />
        </Fact>
        <Fact name="Team">
          {entry.teamId === undefined ? '–' : <Id text={entry.teamId} />}{' '}
          {entry.teamId !== undefined && team !== entry.teamId && <span class="faint">{team}</span>}
        </Fact>
        <Fact name="Outcome">
          <Outcome {...entry} />
          {durationMs !== undefined && <span class="faint"> after {formatDuration(durationMs)}</span>}
        </Fact>
        <Fact name="From">{clientAddress === undefined ? '–' : <Id text={clientAddress} />}</Fact>
        <Fact name="Request">{requestId === undefined ? '–' : <Id text={requestId} />}</Fact>
        <Fact name="Server">
          <Id text={entry.nodeId} />
        </Fact>
        <Fact name="Entry">
          <Id text={entry.entryId} />
        </Fact>
      </dl>
      <p class="links">
        {view !== undefined && resource?.id !== undefined && (
          <a href={formatRoute({ team, view, id: resource.id })}>Show this {resource.kind}</a>
        )}
        {resource?.id !== undefined && (
          <a href={addressOf({ resource: resource.id })}>All about this {resource.kind}</a>
        )}
        <a href={addressOf({ actor: actor.kind === 'operator' ? actor.kind : (actor.id ?? actor.kind) })}>
          {allBy[actor.kind]}
        </a>
        <a href={addressOf({ operation })}>All {operation}</a>
        <a href={addressOf({ until, entry: entry.entryId })}>Link to this entry</a>
      </p>
    </div>
  );
}

function Id({ text }: { text: string }) {
  return (
    <span class="id">
      <Foreign text={text} longest={200} />
    </span>
  );
}
