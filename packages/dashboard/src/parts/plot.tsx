import { useState } from 'preact/hooks';
import { linePath, nearest, type Point, type Unit, upperEdge } from '../format/plot.js';
import { formatAxis } from '../format/times.js';

const WIDTH = 600;
const HEIGHT = 120;

/** A line: what it shows, and its samples. */
export interface Series {
  name: string;
  points: readonly Point[];
}

/** Lines over time. A screen reader says the last value and the largest. */
export function Plot(props: {
  title: string;
  series: readonly Series[];
  from: number;
  to: number;
  /** Most that a value can be, where there is such a limit. */
  limit?: number | undefined;
  /** Default `other`. */
  unit?: Unit;
  format: (value: number) => string;
}) {
  const { title, series, from, to, limit, format } = props;
  const [at, setAt] = useState<number>();
  const values = series.flatMap(({ points }) => points.map(({ value }) => value));
  const most = upperEdge(Math.max(0, ...values), props.unit ?? 'other', limit);
  const last = (points: readonly Point[]) => points.at(-1);
  const shown = series.map(({ name, points }) => ({
    name,
    point: at === undefined ? last(points) : nearest(points, at),
  }));
  const spoken = shown.map(({ name, point }) =>
    point === undefined ? `${name}: nothing` : `${name}: ${format(point.value)}`,
  );
  const clock = (at: number) => formatAxis(new Date(at), to - from);
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setAt(from + ((event.clientX - box.left) / Math.max(1, box.width)) * (to - from));
  };
  const marked = at === undefined ? undefined : shown.find((each) => each.point !== undefined)?.point;
  return (
    <figure class="plot">
      <figcaption>
        <span class="name">{title}</span>
        <span class="values">
          {shown.map((each, index) => (
            <span key={each.name} class={`value line-${index}`}>
              {series.length > 1 && <span class="faint">{each.name} </span>}
              {each.point === undefined ? '–' : format(each.point.value)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}. ${spoken.join(', ')}. Largest: ${values.length === 0 ? 'nothing' : format(Math.max(...values))}`}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      >
        {[0.25, 0.5, 0.75].map((part) => (
          <line key={part} class="grid" x1="0" x2={WIDTH} y1={HEIGHT * part} y2={HEIGHT * part} />
        ))}
        {series.map(({ name, points }, index) => (
          <path
            key={name}
            class={`line line-${index}`}
            d={linePath(points, { from, to, most }, WIDTH, HEIGHT)}
          />
        ))}
        {marked !== undefined && (
          <line
            class="mark"
            x1={((marked.at - from) / Math.max(1, to - from)) * WIDTH}
            x2={((marked.at - from) / Math.max(1, to - from)) * WIDTH}
            y1="0"
            y2={HEIGHT}
          />
        )}
      </svg>
      <div class="axis">
        <span>{clock(from)}</span>
        <span>{marked === undefined ? '' : clock(marked.at)}</span>
        <span>
          to {format(most)}
          {limit !== undefined && most < limit ? ` of ${format(limit)}` : ''}, {clock(to)}
        </span>
      </div>
    </figure>
  );
}
