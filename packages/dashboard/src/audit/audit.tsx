import { platformOperations } from '@svc/platform';
import { operatorOperations } from '@svc/platform/operator';
import type { AuditEntry, OperatedTeam } from '@svc/sdk/operator';
import { operator } from '../connection/clients.js';
import {
  filterNames,
  fromLocalField,
  readAuditFilter,
  type spans,
  toLocalField,
} from '../format/audit-query.js';
import { formatDuration, formatTime } from '../format/times.js';
import { Choice } from '../parts/choice.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign } from '../parts/text.js';
import { Typed } from '../parts/typed.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';
import { goTo } from '../router/use-route.js';
import { Actor, Entry, Outcome, Resource } from './entry.js';
import { useExport } from './export.js';

const LOOK_MS = 3_000;

/** Suggestions where an actor is typed: kinds, and then identifiers of all but keys. */
const actors = ['key', 'operator', 'system', 'dashboard', 'timeout', 'traffic', 'ended', 'orphaned', 'drain'];

/** Operations that change something. The others leave an entry only where they show secrets or keys. */
const operations = Object.entries({ ...platformOperations, ...operatorOperations })
  .filter(([, { method }]) => method !== 'GET')
  .map(([operationId]) => operationId)
  .sort();

const spanNames: Readonly<Record<keyof typeof spans, string>> = {
  '15m': 'last 15 min',
  '1h': 'last hour',
  '24h': 'last 24 h',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
};

/** The audit trail, newest first, narrowed by the address. */
export function Audit(props: {
  /** The team that is chosen at the top; the trail is that of all. */
  team: string;
  teams: readonly OperatedTeam[];
  query: Record<string, string>;
}) {
  const { team, teams, query } = props;
  const filters = Object.fromEntries(filterNames.map((name) => [name, query[name] ?? '']));
  const opened = query.entry ?? '';
  const following = query.follow !== 'no' && opened === '';
  const addressOf = (next: Record<string, string>) => formatRoute({ team, view: 'audit', query: next });
  const filter = (change: Record<string, string>) =>
    goTo(addressOf({ ...query, ...change, entry: '' }), true);
  const pages = usePages(
    `audit ${JSON.stringify(filters)}`,
    (page) => (page === 0 && following ? LOOK_MS : 0),
    (nextToken, signal) =>
      operator.audit.list({ ...readAuditFilter(filters, Date.now()), limit: 100, nextToken, signal }),
  );
  const file = useExport(() => readAuditFilter(filters, Date.now()));
  const slugs = new Map(teams.map(({ teamId, slug }) => [teamId, slug]));
  const columns: Column<AuditEntry>[] = [
    { name: 'Time', show: ({ at }) => <time dateTime={at.toISOString()}>{formatTime(at)}</time> },
    {
      name: 'What',
      show: ({ entryId, operation }) => (
        <button
          type="button"
          class="link"
          aria-expanded={opened === entryId}
          onClick={() => goTo(addressOf({ ...query, entry: opened === entryId ? '' : entryId }), true)}
        >
          {operation}
        </button>
      ),
    },
    { name: 'Resource', show: (entry) => <Resource {...entry} /> },
    {
      name: 'Team',
      minor: true,
      show: ({ teamId }) =>
        teamId === undefined ? <span class="faint">–</span> : (slugs.get(teamId) ?? teamId),
    },
    { name: 'Who', show: (entry) => <Actor {...entry} /> },
    { name: 'Outcome', show: (entry) => <Outcome {...entry} /> },
    {
      name: 'Took',
      numeric: true,
      minor: true,
      show: ({ durationMs }) => (durationMs === undefined ? '–' : formatDuration(durationMs)),
    },
    { name: 'From', minor: true, show: ({ clientAddress }) => <Foreign text={clientAddress ?? '–'} /> },
  ];
  const narrowed = Object.values(filters).some((value) => value !== '');
  return (
    <ListView
      title="Audit trail"
      pages={pages}
      columns={columns}
      keyOf={({ entryId }) => entryId}
      below={(entry) =>
        entry.entryId === opened && (
          <Entry
            entry={entry}
            team={slugs.get(entry.teamId ?? '') ?? entry.teamId ?? team}
            addressOf={addressOf}
          />
        )
      }
      empty={narrowed ? 'No entry fits these filters' : 'No entries'}
      hint={narrowed && <a href={addressOf({})}>Show all</a>}
      filters={<Filters {...{ teams, filters, filter, following, opened: opened !== '' }} />}
      told={file.told}
    >
      {file.button}
    </ListView>
  );
}

function Filters(props: {
  teams: readonly OperatedTeam[];
  filters: Record<string, string>;
  filter: (change: Record<string, string>) => void;
  following: boolean;
  opened: boolean;
}) {
  const { teams, filters, filter, following, opened } = props;
  const { team = '', actor = '', operation = '', resource = '', outcome = '', last = '' } = filters;
  const { from = '', until = '' } = filters;
  const slugs = teams.map(({ slug }) => slug);
  const between = last === 'between' || from !== '' || until !== '';
  return (
    <>
      <Choice
        label="Of team"
        value={team}
        options={[['', 'all'], ...(team === '' || slugs.includes(team) ? slugs : [team, ...slugs])]}
        onChoose={(chosen) => filter({ team: chosen })}
      />
      <Typed
        label="Who"
        value={actor}
        placeholder="kind, key or reason"
        suggestions={actors}
        onRest={(text) => filter({ actor: text })}
      />
      <Typed
        label="What"
        value={operation}
        placeholder="operation"
        suggestions={operations}
        onRest={(text) => filter({ operation: text })}
        search
      />
      <Typed
        label="Resource"
        value={resource}
        placeholder="id"
        onRest={(text) => filter({ resource: text })}
      />
      <Choice
        label="Outcome"
        value={outcome}
        options={[['', 'all'], 'succeeded', 'refused', 'failed', 'unfinished']}
        onChoose={(chosen) => filter({ outcome: chosen })}
      />
      <Choice
        label="Time"
        value={between ? 'between' : last}
        options={[['', 'all that is kept'], ...Object.entries(spanNames), ['between', 'between…']]}
        onChoose={(chosen) => filter({ last: chosen, from: '', until: '' })}
      />
      {between && (
        <>
          <Moment label="From" value={from} onChange={(time) => filter({ from: time })} />
          <Moment label="Until" value={until} onChange={(time) => filter({ until: time })} />
        </>
      )}
      <label class="check" title={opened ? 'It continues once the entry is closed.' : undefined}>
        <input
          type="checkbox"
          checked={following}
          disabled={opened}
          onChange={(event) => filter({ follow: event.currentTarget.checked ? '' : 'no' })}
        />
        Follow
      </label>
    </>
  );
}

/** A field for a time of the reader's own clock. */
function Moment(props: { label: string; value: string; onChange: (time: string) => void }) {
  const { label, value, onChange } = props;
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step="1"
        value={toLocalField(value)}
        onChange={(event) => onChange(fromLocalField(event.currentTarget.value))}
      />
    </label>
  );
}
