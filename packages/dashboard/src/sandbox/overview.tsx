import type { SandboxEgress, SandboxMetrics } from '@svc/sdk';
import { useEffect, useState } from 'preact/hooks';
import { usePoll } from '../connection/use-poll.js';
import { formatBytes, formatPercent } from '../format/numbers.js';
import { type Point, ratesOf } from '../format/plot.js';
import { formatTime } from '../format/times.js';
import { Fact } from '../parts/fact.js';
import { Failure } from '../parts/notice.js';
import { Plot } from '../parts/plot.js';
import { Spans } from '../parts/spans.js';
import { Foreign, Pairs, When } from '../parts/text.js';
import type { TabProps } from './tab-props.js';

const LOOK_MS = 5_000;
const spans: readonly [name: string, ms: number][] = [
  ['15 min', 900_000],
  ['1 h', 3_600_000],
  ['6 h', 21_600_000],
  ['24 h', 86_400_000],
];

/** The facts of a sandbox, and its current use. */
export function Overview({ handle, detail }: TabProps) {
  return (
    <div class="overview">
      <Usage handle={handle} detail={detail} />
      <dl class="facts card">
        <Fact name="Template">
          <Foreign text={detail.alias ?? detail.templateId} />
        </Fact>
        <Fact name="Started">
          <When time={detail.startedAt} /> <span class="faint">({formatTime(detail.startedAt)})</span>
        </Fact>
        <Fact name={detail.state === 'running' ? 'Ends' : 'Paused'}>
          <When time={detail.endAt} /> <span class="faint">({formatTime(detail.endAt)})</span>
        </Fact>
        <Fact name="At the end">
          {detail.lifecycle.onTimeout === 'pause' ? 'paused' : 'killed'}
          {detail.lifecycle.autoResume ? ', a request resumes it' : ''}
        </Fact>
        <Fact name="Size">
          {detail.cpuCount} CPU, {formatBytes(detail.memoryMiB * 2 ** 20)} memory,{' '}
          {formatBytes(detail.diskMiB * 2 ** 20)} disk
        </Fact>
        <Fact name="Isolation">{detail.isolation ?? 'unknown'}</Fact>
        <Fact name="Daemon">{detail.envdVersion}</Fact>
        <Fact name="Volumes">
          <Pairs pairs={detail.volumeMounts} longest={200} />
        </Fact>
        <Fact name="Metadata">
          <Pairs pairs={detail.metadata} longest={400} />
        </Fact>
      </dl>
    </div>
  );
}

/** Plots of what it uses. What went over the network is counted from when the page was opened. */
function Usage({ handle, detail }: Pick<TabProps, 'handle' | 'detail'>) {
  const [spanMs, setSpanMs] = useState(spans[0]![1]);
  const polled = usePoll(`usage ${detail.sandboxId} ${spanMs}`, LOOK_MS, async (signal) => {
    const to = Date.now();
    const metrics = await handle.metrics({ start: new Date(to - spanMs), signal });
    const egress = await handle.egress({ signal });
    return { metrics, egress, to };
  });
  const traffic = useTraffic(polled.value);
  const { metrics = [], to = Date.now() } = polled.value ?? {};
  // A young sandbox gets the whole width.
  const from = Math.max(to - spanMs, metrics[0]?.timestamp.getTime() ?? 0);
  const latest = metrics.at(-1);
  const line = (read: (sample: SandboxMetrics) => number): Point[] =>
    metrics.map((sample) => ({ at: sample.timestamp.getTime(), value: read(sample) }));
  const rate = (value: number) => `${formatBytes(value)}/s`;
  return (
    <section aria-label="Use">
      <Spans spans={spans} chosen={spanMs} onChoose={setSpanMs} />
      <Failure error={polled.error} />
      {polled.value !== undefined && metrics.length === 0 && (
        <p class="faint">No samples in this time yet: one is taken about every five seconds while it runs.</p>
      )}
      <div class="plots">
        <Plot
          title="CPU"
          series={[{ name: 'CPU', points: line((sample) => sample.cpuUsedPercent) }]}
          limit={100}
          format={formatPercent}
          {...{ from, to }}
        />
        <Plot
          title="Memory"
          series={[
            { name: 'used', points: line((sample) => sample.memoryUsedBytes) },
            { name: 'cache', points: line((sample) => sample.memoryCacheBytes) },
          ]}
          limit={latest?.memoryTotalBytes}
          unit="bytes"
          format={formatBytes}
          {...{ from, to }}
        />
        <Plot
          title="Network"
          series={[
            { name: 'sent', points: traffic.sent },
            { name: 'received', points: traffic.received },
          ]}
          unit="bytes"
          format={rate}
          {...{ from, to }}
        />
        <Plot
          title="Disk"
          series={[{ name: 'Disk', points: line((sample) => sample.diskUsedBytes) }]}
          limit={latest === undefined || latest.diskTotalBytes === 0 ? undefined : latest.diskTotalBytes}
          unit="bytes"
          format={formatBytes}
          {...{ from, to }}
        />
      </div>
    </section>
  );
}

/** Most looks at totals that are kept: two hours of them. */
const MOST_LOOKS = 1_440;

/** Rates of the network, from totals that are looked at again and again. */
function useTraffic(look: { egress: SandboxEgress; to: number } | undefined): {
  sent: Point[];
  received: Point[];
} {
  const [looks, setLooks] = useState<{ egress: SandboxEgress; to: number }[]>([]);
  useEffect(() => {
    if (look !== undefined) setLooks((before) => [...before.slice(-MOST_LOOKS), look]);
  }, [look]);
  const totals = (read: (egress: SandboxEgress) => number) =>
    ratesOf(looks.map(({ egress, to }) => ({ at: to, value: read(egress) })));
  return {
    sent: totals(({ totals: { bytesSent } }) => bytesSent),
    received: totals(({ totals: { bytesReceived } }) => bytesReceived),
  };
}
