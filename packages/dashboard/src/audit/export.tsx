import type { AuditFilter } from '@svc/sdk/operator';
import { useEffect, useRef, useState } from 'preact/hooks';
import { operator } from '../connection/clients.js';
import { formatCount } from '../format/numbers.js';
import { Failure, Notice } from '../parts/notice.js';
import { saveFile } from '../parts/save-file.js';

/** Entries that are asked for at once: the most that the service gives. */
const PAGE = 1_000;
/** Most entries of one file, some 20 MB: a browser holds them all until it saves them. */
const MOST = 50_000;

/** Saves the entries that fit as lines of JSON, oldest first, as `svc audit --all --json` prints them. */
export function useExport(filter: () => AuditFilter) {
  const [count, setCount] = useState<number>();
  const [end, setEnd] = useState<{ error?: unknown; cut?: boolean }>({});
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);
  const save = async () => {
    const over = new AbortController();
    running.current = over;
    setEnd({});
    setCount(0);
    try {
      const { signal } = over;
      const lines: string[] = [];
      const found = operator.audit.list({ ...filter(), order: 'asc', limit: PAGE, signal });
      for await (const { items } of found.pages()) {
        for (const entry of items.slice(0, MOST - lines.length)) lines.push(`${JSON.stringify(entry)}\n`);
        setCount(lines.length);
        if (lines.length === MOST) break;
      }
      const name = `audit-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.jsonl`;
      saveFile(new Blob(lines, { type: 'application/x-ndjson' }), name);
      setEnd({ cut: lines.length === MOST });
    } catch (error) {
      if (!over.signal.aborted) setEnd({ error });
    }
    setCount(undefined);
  };
  return {
    button:
      count === undefined ? (
        <button type="button" onClick={() => void save()}>
          Download
        </button>
      ) : (
        <>
          <span role="status">{formatCount(count)} entries…</span>
          <button type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        </>
      ),
    told: (
      <>
        <Failure error={end.error} />
        {end.cut && (
          <Notice kind="info">
            The file has the oldest {formatCount(MOST)} entries that fit. <code>svc audit --all --json</code>{' '}
            prints however many there are.
          </Notice>
        )}
      </>
    ),
  };
}
