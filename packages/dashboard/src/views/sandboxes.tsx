import type { SandboxInfo, SandboxState } from '@svc/sdk';
import { useRef } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { parseMetadata } from '../format/metadata-filter.js';
import { formatBytes, formatCount, formatPercent } from '../format/numbers.js';
import { Choice } from '../parts/choice.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, Pairs, State, When } from '../parts/text.js';
import { Typed } from '../parts/typed.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';
import { goTo } from '../router/use-route.js';
import { useSamples } from './use-samples.js';

const LOOK_MS = 3_000;

/** The sandboxes of a team, a page at a time, with their states and what they use as both change. */
export function Sandboxes({ team, query }: { team: string; query: Record<string, string> }) {
  const { state = '', template = '', metadata = '' } = query;
  const body = useRef<HTMLTableSectionElement>(null);
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
  const samples = useSamples(team, pages.value?.items ?? [], body);
  const filter = (change: Record<string, string>) =>
    goTo(formatRoute({ team, view: 'sandboxes', query: { ...query, ...change } }), true);
  const filtered = state !== '' || template !== '' || metadata !== '';
  const sampleOf = (row: SandboxInfo) => {
    const sample = row.state === 'running' ? samples.get(row.sandboxId) : undefined;
    // One from before a pause says nothing of what runs now.
    return sample !== undefined && sample.timestamp >= row.startedAt ? sample : undefined;
  };
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
    {
      name: 'Template',
      minor: true,
      show: (row) => <Foreign text={row.alias ?? row.templateId} longest={60} />,
    },
    { name: 'Started', minor: true, show: (row) => <When time={row.startedAt} /> },
    {
      name: 'Ends',
      show: (row) =>
        row.state === 'running' ? <When time={row.endAt} /> : <span class="faint">paused</span>,
    },
    {
      name: 'CPU',
      numeric: true,
      show: (row) => (
        <Used
          running={row.state === 'running'}
          percent={sampleOf(row)?.cpuUsedPercent}
          format={formatPercent}
          most={`${row.cpuCount} CPU`}
        />
      ),
    },
    {
      name: 'Memory',
      numeric: true,
      show: (row) => {
        const sample = sampleOf(row);
        return (
          <Used
            running={row.state === 'running'}
            percent={sample && (sample.memoryUsedBytes / sample.memoryTotalBytes) * 100}
            format={() => formatBytes(sample?.memoryUsedBytes ?? 0)}
            most={formatBytes(row.memoryMiB * 2 ** 20)}
          />
        );
      },
    },
    { name: 'Metadata', minor: true, show: (row) => <Pairs pairs={row.metadata} longest={40} /> },
  ];
  return (
    <ListView
      title="Sandboxes"
      pages={pages}
      columns={columns}
      keyOf={({ sandboxId }) => sandboxId}
      body={body}
      count={pages.value?.total === undefined ? undefined : `${formatCount(pages.value.total)} running`}
      empty={filtered ? 'No sandbox fits these filters' : 'No sandboxes'}
      hint={
        filtered ? (
          <a href={formatRoute({ team, view: 'sandboxes' })}>Show all</a>
        ) : (
          <>
            Create one with <code>svc sandbox create</code> or the SDK.
          </>
        )
      }
      filters={
        <>
          <Choice
            label="State"
            value={state}
            options={[['', 'all'], 'running', 'paused']}
            onChoose={(chosen) => filter({ state: chosen })}
          />
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
        </>
      }
    />
  );
}

/** A sandbox's use of something, with a bar; of one that is paused, and of one without a sample, the most that it may use. */
function Used(props: {
  running: boolean;
  /** Of what it may; undefined: not known. */
  percent: number | undefined;
  format: (percent: number) => string;
  most: string;
}) {
  const { running, percent, format, most } = props;
  // One element: thousands of sandboxes may be paused.
  if (percent === undefined)
    return (
      <span
        class="faint"
        title={running ? 'No sample yet: one is taken about every five seconds.' : 'Paused: it uses none.'}
      >
        – of {most}
      </span>
    );
  return (
    <span class="used">
      {format(percent)} <span class="faint">of {most}</span>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(Math.max(percent, 0), 100)}%` }} />
      </span>
    </span>
  );
}
