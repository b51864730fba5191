import type { SandboxInfo, SandboxState } from '@svc/sdk';
import { useEffect, useState } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { parseMetadata } from '../format/metadata-filter.js';
import { formatBytes } from '../format/numbers.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { Pager } from '../parts/pager.js';
import { type Column, Table } from '../parts/table.js';
import { Foreign, Pairs, State, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';
import { goTo } from '../router/use-route.js';

const LOOK_MS = 3_000;

/** How long typing rests before it is asked for, ms. */
const TYPING_MS = 300;

/** The sandboxes of a team, a page at a time, with their states as they change. */
export function Sandboxes({ team, query }: { team: string; query: Record<string, string> }) {
  const { state = '', template = '', metadata = '' } = query;
  const pages = usePages(`sandboxes ${team} ${state} ${template} ${metadata}`, LOOK_MS, (nextToken, signal) =>
    clientOf(team).sandboxes.list({
      limit: 100,
      nextToken,
      signal,
      ...(state === '' ? {} : { state: state as SandboxState }),
      ...(template === '' ? {} : { template }),
      ...(metadata === '' ? {} : { metadata: parseMetadata(metadata) }),
    }),
  );
  const { value, error, page } = pages;
  const filter = (change: Record<string, string>) =>
    goTo(formatRoute({ team, view: 'sandboxes', query: { ...query, ...change } }), true);
  const filtered = state !== '' || template !== '' || metadata !== '';
  const columns: Column<SandboxInfo>[] = [
    {
      name: 'Sandbox',
      show: ({ sandboxId }) => (
        <a class="id" href={formatRoute({ team, view: 'sandboxes', id: sandboxId })}>
          {sandboxId}
        </a>
      ),
    },
    { name: 'State', show: (row) => <State state={row.state} /> },
    { name: 'Template', show: (row) => <Foreign text={row.alias ?? row.templateId} longest={60} /> },
    { name: 'Started', show: (row) => <When time={row.startedAt} /> },
    {
      name: 'Ends',
      show: (row) =>
        row.state === 'running' ? <When time={row.endAt} /> : <span class="faint">paused</span>,
    },
    { name: 'CPUs', numeric: true, minor: true, show: (row) => row.cpuCount },
    { name: 'Memory', numeric: true, minor: true, show: (row) => formatBytes(row.memoryMiB * 2 ** 20) },
    { name: 'Metadata', minor: true, show: (row) => <Pairs pairs={row.metadata} longest={40} /> },
  ];
  return (
    <>
      <div class="head">
        <h1>Sandboxes</h1>
        {value?.total !== undefined && <span class="count">{value.total.toLocaleString('en')} running</span>}
      </div>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          State
          <select value={state} onChange={(event) => filter({ state: event.currentTarget.value })}>
            <option value="">all</option>
            <option value="running">running</option>
            <option value="paused">paused</option>
          </select>
        </label>
        <Typed
          label="Template"
          value={template}
          placeholder="name or id"
          onRest={(text) => filter({ template: text })}
          search
        />
        <Typed
          label="Metadata"
          value={metadata}
          placeholder="name=value"
          onRest={(text) => filter({ metadata: text })}
        />
      </form>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Loading />
      ) : value.items.length === 0 && page === 0 ? (
        <Empty title={filtered ? 'No sandbox fits these filters' : 'No sandboxes'}>
          {filtered ? (
            <p>
              <a href={formatRoute({ team, view: 'sandboxes' })}>Show all</a>
            </p>
          ) : (
            <p>
              Create one with <code>svc sandbox create</code> or the SDK.
            </p>
          )}
        </Empty>
      ) : (
        <>
          <Table label="Sandboxes" rows={value.items} columns={columns} keyOf={(row) => row.sandboxId} />
          <Pager
            page={page}
            count={value.items.length}
            hasNext={value.nextToken !== undefined}
            onPrevious={pages.previous}
            onNext={pages.next}
          />
        </>
      )}
    </>
  );
}

/** A field that tells what was typed once the typing rests. */
function Typed(props: {
  label: string;
  value: string;
  placeholder: string;
  search?: boolean;
  onRest: (text: string) => void;
}) {
  const { label, value, placeholder, search, onRest } = props;
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onRest(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      {label}
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        data-search={search ? '' : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
