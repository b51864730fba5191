import { formatAgo, formatTime } from '../format/times.js';
import { visibleText } from '../format/visible-text.js';

/** Text of a stranger: isolated from the text around it, in any direction of writing. */
export function Foreign({ text, longest }: { text: string; longest?: number | undefined }) {
  return (
    <bdi class="foreign" dir="ltr">
      {visibleText(text, longest)}
    </bdi>
  );
}

/** The age of a time, with the exact time at hand. */
export function When({ time }: { time: Date | undefined }) {
  if (time === undefined) return <span class="faint">never</span>;
  return (
    <time dateTime={time.toISOString()} title={formatTime(time)}>
      {formatAgo(time, Date.now())}
    </time>
  );
}

/** Name and value pairs. */
export function Pairs({ pairs, longest = 60 }: { pairs: Record<string, string>; longest?: number }) {
  const all = Object.entries(pairs);
  if (all.length === 0) return <span class="faint">–</span>;
  return (
    <span class="pairs">
      {all.slice(0, 20).map(([name, value]) => (
        <span class="pair" key={name}>
          <Foreign text={`${name}=${value}`} longest={longest} />
        </span>
      ))}
      {all.length > 20 && <span class="faint">and {all.length - 20} more</span>}
    </span>
  );
}

/** A state in words and colour. */
export function State({ state }: { state: string }) {
  return <span class={`state ${state.replace(/\W/g, '')}`}>{state}</span>;
}
