import type { TeamUsage } from '@svc/sdk/operator';
import { formatBytes, formatCount } from '../format/numbers.js';
import { usageLines } from '../format/usage-hours.js';
import { Plot } from '../parts/plot.js';

/** What a team used hour by hour, as plots. */
export function Usage({ usage, from, to }: { usage: TeamUsage; from: number; to: number }) {
  const lines = usageLines(usage.hours, from, to);
  const sum = (read: (hour: TeamUsage['hours'][number]) => number) =>
    usage.hours.reduce((total, hour) => total + read(hour), 0);
  const plots = [
    { title: 'Sandboxes running, on average', points: lines.sandboxes, format: formatCount },
    { title: 'Memory of those, on average', points: lines.memory, format: formatBytes, unit: 'bytes' },
    { title: 'Egress an hour', points: lines.egress, format: formatBytes, unit: 'bytes' },
    { title: 'Sandboxes made an hour', points: lines.creates, format: formatCount },
  ] as const;
  return (
    <>
      <p class="faint">
        {usage.hours.length === 0
          ? 'Nothing was used in this time.'
          : `In all: ${formatCount(sum((hour) => hour.sandboxSeconds) / 3_600)} hours of sandboxes, ${formatCount(
              sum((hour) => hour.memoryGiBSeconds) / 3_600,
            )} GiB-hours of memory, ${formatBytes(sum((hour) => hour.egressBytes))} sent, ${formatCount(
              sum((hour) => hour.creates),
            )} sandboxes made.`}
      </p>
      <div class="plots">
        {plots.map(({ title, points, format, ...rest }) => (
          <Plot key={title} {...{ title, format, from, to, ...rest }} series={[{ name: title, points }]} />
        ))}
      </div>
    </>
  );
}
