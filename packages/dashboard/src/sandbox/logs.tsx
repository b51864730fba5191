import type { LogEntry } from '@svc/sdk';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatTime } from '../format/times.js';
import { visibleText } from '../format/visible-text.js';
import { Choice } from '../parts/choice.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import type { TabProps } from './tab-props.js';

/** Most entries that are shown; older ones give way. */
const MOST = 1_000;
/** Pause before a log that broke off is followed again, ms. */
const AGAIN_MS = 3_000;

/** The log of a sandbox as it grows. */
export function Logs({ handle, detail }: TabProps) {
  const [level, setLevel] = useState<LogEntry['level']>('debug');
  const [search, setSearch] = useState('');
  const [entries, setEntries] = useState<LogEntry[]>();
  const [error, setError] = useState<unknown>();
  const [following, setFollowing] = useState(true);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const over = new AbortController();
    setEntries(undefined);
    const follow = async (from: Date | undefined): Promise<void> => {
      let last = from;
      try {
        const filter = { level, ...(search === '' ? {} : { search }) };
        const first = await handle.logs({ ...filter, limit: 500, signal: over.signal });
        if (over.signal.aborted) return;
        setEntries(first.reverse());
        setError(undefined);
        last = first.at(-1)?.timestamp ?? last;
        const known = new Set(first.map(keyOf));
        // Where nothing was, all from the beginning: what came since must not be lost.
        const start = last === undefined ? {} : { from: last };
        for await (const entry of handle.logs.follow({ ...filter, ...start, signal: over.signal })) {
          // Entries of the moment with which it begins are given once more.
          if (known.delete(keyOf(entry))) continue;
          setEntries((before = []) => [...before.slice(-MOST + 1), entry]);
        }
      } catch (thrown) {
        if (over.signal.aborted) return;
        setError(thrown);
        setTimeout(() => {
          if (!over.signal.aborted) void follow(last);
        }, AGAIN_MS);
      }
    };
    void follow(undefined);
    return () => over.abort();
  }, [detail.sandboxId, level, search]);
  useEffect(() => {
    if (following) end.current?.scrollIntoView({ block: 'nearest' });
  }, [entries, following]);
  return (
    <>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Lowest level"
          value={level}
          options={['debug', 'info', 'warn', 'error']}
          onChoose={(chosen) => setLevel(chosen as LogEntry['level'])}
        />
        <label>
          Contains
          <input
            type="search"
            maxLength={256}
            value={search}
            data-search=""
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={following}
            onChange={(event) => setFollowing(event.currentTarget.checked)}
          />
          Stay at the end
        </label>
      </form>
      <Failure error={error} />
      {entries === undefined ? (
        error === undefined && <Loading />
      ) : entries.length === 0 ? (
        <Empty title="Nothing in the log">
          <p>What programs print on standard output and standard error appears here as it comes.</p>
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <div class="log" role="log" aria-label="Log" tabIndex={0}>
          {entries.map((entry, index) => (
            <div key={`${index} ${entry.timestamp.getTime()}`} class={`entry ${entry.level}`}>
              <time dateTime={entry.timestamp.toISOString()}>{formatTime(entry.timestamp).slice(11)}</time>
              <span class="level">{entry.level}</span>
              <bdi class="message" dir="ltr">
                {visibleText(entry.message)}
              </bdi>
            </div>
          ))}
          <div ref={end} />
        </div>
      )}
    </>
  );
}

function keyOf({ timestamp, level, message }: LogEntry): string {
  return `${timestamp.getTime()} ${level} ${message}`;
}
