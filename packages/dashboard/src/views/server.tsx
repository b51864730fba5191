import type { OperatedNode } from '@svc/sdk/operator';
import { useEffect, useState } from 'preact/hooks';
import { operator } from '../connection/clients.js';
import { readMetrics, readStatus, type Status } from '../connection/status.js';
import { usePoll } from '../connection/use-poll.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { type Point, ratesOf } from '../format/plot.js';
import { parseMetrics, type Sample, sumOf } from '../format/prometheus.js';
import { formatDuration } from '../format/times.js';
import { Failure, Loading } from '../parts/notice.js';
import { Plot, type Series } from '../parts/plot.js';
import { type Column, Table } from '../parts/table.js';
import { State } from '../parts/text.js';

const LOOK_MS = 5_000;
/** Most looks that are kept: an hour of them. */
const MOST_LOOKS = 720;

interface Look {
  at: number;
  samples: Sample[];
}

/** The state of the server: its sandboxes, pool, store and rates, and the servers that share its database. */
export function Server() {
  const status = usePoll('status', LOOK_MS, readStatus);
  const looked = usePoll('metrics', LOOK_MS, async (signal) => ({
    samples: parseMetrics(await readMetrics(signal)),
    at: Date.now(),
  }));
  const nodes = usePoll('nodes', LOOK_MS, (signal) => operator.nodes.list({ signal }));
  const looks = useLooks(looked.value);
  return (
    <>
      <div class="head">
        <h1>Server</h1>
        {status.value !== undefined && <State state={status.value.state} />}
      </div>
      <Failure error={status.error ?? looked.error} />
      {status.value === undefined ? (
        status.error === undefined && <Loading />
      ) : (
        <Facts status={status.value} samples={looks.at(-1)?.samples ?? []} />
      )}
      {looks.length > 0 && <Rates looks={looks} />}
      <section class="part" aria-label="Nodes">
        <h2>Servers that share the database</h2>
        <Failure error={nodes.error} />
        {nodes.value !== undefined &&
          (nodes.value.length === 0 ? (
            <p class="faint">This server is alone.</p>
          ) : (
            <Table label="Nodes" rows={nodes.value} columns={nodeColumns} keyOf={({ nodeId }) => nodeId} />
          ))}
      </section>
    </>
  );
}

function Facts({ status, samples }: { status: Status; samples: readonly Sample[] }) {
  const { sandboxes, disk } = status;
  const mib = (value: number) => formatBytes(value * 2 ** 20);
  const oldestSeconds = sumOf(samples, 'svc_webhook_oldest_pending_seconds') ?? 0;
  const pool = (state: string) => sumOf(samples, 'svc_pool_sandboxes', { state });
  return (
    <div class="tiles">
      {status.reason !== undefined && <Tile name="Why" value={status.reason} />}
      <Tile
        name="Sandboxes"
        value={formatCount(sandboxes.running)}
        note={`running; ${sandboxes.paused} paused, ${sandboxes.changing} changing, at most ${sandboxes.most}`}
      />
      <Tile
        name="Pool"
        value={formatCount(pool('waiting') ?? 0)}
        note={`wait booted of ${formatCount(pool('wanted') ?? 0)} wanted; ${formatBytes(sumOf(samples, 'svc_pool_memory_bytes') ?? 0)}`}
      />
      {disk.store === undefined ? (
        <Tile name="Disk" value={mib(disk.freeMiB)} note={`free; ${mib(disk.reserveMiB)} are kept free`} />
      ) : (
        <Tile
          name="Store"
          value={mib(disk.store.usedMiB)}
          note={`used of ${mib(disk.store.totalMiB)}; ${mib(disk.freeMiB)} free on the disk`}
        />
      )}
      <Tile
        name="Webhooks"
        value={formatCount(sumOf(samples, 'svc_webhook_deliveries_pending') ?? 0)}
        note={
          oldestSeconds > 0
            ? `deliveries wait, the oldest for ${formatDuration(oldestSeconds * 1_000)}`
            : 'deliveries wait'
        }
      />
      <Tile
        name="Up"
        value={formatDuration(status.uptimeSeconds * 1_000)}
        note={`${status.nodeId}, ${status.driver.name} on ${status.storage}`}
      />
    </div>
  );
}

function Tile({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <div class="card tile">
      <span class="faint">{name}</span>
      <strong>{value}</strong>
      {note !== undefined && <span class="faint">{note}</span>}
    </div>
  );
}

function Rates({ looks }: { looks: readonly Look[] }) {
  const values = (name: string, labels: Record<string, string> = {}): Point[] =>
    looks.map(({ at, samples }) => ({ at, value: sumOf(samples, name, labels) ?? 0 }));
  const rate = (name: string, labels?: Record<string, string>) => ratesOf(values(name, labels));
  const to = looks.at(-1)!.at;
  const from = Math.min(looks[0]!.at, to - 60_000);
  const perSecond = (value: number) => `${formatCount(value)}/s`;
  const plots: [title: string, series: Series[], format: (value: number) => string][] = [
    [
      'Requests',
      [
        { name: 'API', points: rate('svc_api_request_duration_seconds_count') },
        { name: 'gateway', points: rate('svc_gateway_requests_total') },
      ],
      perSecond,
    ],
    [
      'Bytes through the gateway',
      [
        { name: 'in', points: rate('svc_gateway_request_bytes_total') },
        { name: 'out', points: rate('svc_gateway_response_bytes_total') },
      ],
      (value) => `${formatBytes(value)}/s`,
    ],
    [
      'Sandboxes',
      [
        { name: 'running', points: values('svc_sandboxes', { state: 'running' }) },
        { name: 'paused', points: values('svc_sandboxes', { state: 'paused' }) },
      ],
      formatCount,
    ],
    [
      'Event loop delay, 99 %',
      [{ name: 'delay', points: values('svc_event_loop_delay_seconds', { percentile: '99' }) }],
      (value) => formatDuration(value * 1_000),
    ],
  ];
  return (
    <section class="part" aria-label="Rates">
      <h2>Since this page was opened</h2>
      <div class="plots">
        {plots.map(([title, series, format]) => (
          <Plot key={title} {...{ title, series, format, from, to }} />
        ))}
      </div>
    </section>
  );
}

function useLooks(look: Look | undefined): Look[] {
  const [looks, setLooks] = useState<Look[]>([]);
  useEffect(() => {
    if (look !== undefined) setLooks((before) => [...before.slice(-MOST_LOOKS + 1), look]);
  }, [look]);
  return looks;
}

const nodeColumns: Column<OperatedNode>[] = [
  { name: 'Server', show: ({ nodeId }) => <span class="id">{nodeId}</span> },
  { name: 'State', show: ({ state }) => <State state={state} /> },
  { name: 'Running', numeric: true, show: ({ sandboxes }) => formatCount(sandboxes.running) },
  { name: 'Paused', numeric: true, show: ({ sandboxes }) => formatCount(sandboxes.paused) },
  {
    name: 'In the pool',
    numeric: true,
    show: ({ report }) => (report === undefined ? '–' : formatCount(report.pooled)),
  },
  {
    name: 'Load',
    numeric: true,
    show: ({ report }) => (report === undefined ? '–' : `${formatCount(report.load)} of ${report.cpuCount}`),
  },
  {
    name: 'Memory free',
    numeric: true,
    show: ({ report }) =>
      report === undefined
        ? '–'
        : `${formatBytes(report.memoryFreeMiB * 2 ** 20)} of ${formatBytes(report.memoryTotalMiB * 2 ** 20)}`,
  },
  {
    name: 'Disk free',
    numeric: true,
    minor: true,
    show: ({ report }) => (report === undefined ? '–' : formatBytes(report.diskFreeMiB * 2 ** 20)),
  },
  {
    name: 'New sandboxes',
    minor: true,
    show: ({ drain }) => (drain === 'no' ? 'yes' : `no, drained (${drain})`),
  },
  { name: 'Version', minor: true, show: ({ report }) => report?.version ?? '–' },
];
