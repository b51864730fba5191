/** Shares of a limit from which on a meter warns, and from which on nothing is left. */
const WARN = 0.8;
const FULL = 1;

/** How much of something is used, as a bar under its words. */
export function Meter(props: {
  name: string;
  used: number;
  /** Undefined: no limit. */
  limit: number | undefined;
  format: (value: number) => string;
  note?: string;
}) {
  const { name, used, limit, format, note } = props;
  const share = limit === undefined ? 0 : limit === 0 ? FULL : used / limit;
  const level = share >= FULL ? 'full' : share >= WARN ? 'warn' : '';
  return (
    <div class={`card tile meter ${level}`}>
      <span class="faint">{name}</span>
      <span>
        <strong>{format(used)}</strong>{' '}
        <span class="faint">{limit === undefined ? 'used, no limit' : `of ${format(limit)}`}</span>
      </span>
      <span class={limit === undefined ? '' : 'bar'} aria-hidden="true">
        <span style={{ width: `${Math.min(share, 1) * 100}%` }} />
      </span>
      <span class="faint">
        {level === 'full' && <span class="level">nothing left, </span>}
        {level === 'warn' && <span class="level">{Math.floor(share * 100)} %, </span>}
        {note}
      </span>
    </div>
  );
}
