import type { BuildInfo, BuildLogEntry } from '@svc/sdk';
import { useEffect, useState } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { formatBytes } from '../format/numbers.js';
import { formatDuration, formatTime } from '../format/times.js';
import { visibleText } from '../format/visible-text.js';
import { Known } from '../parts/known.js';
import { Empty, Failure } from '../parts/notice.js';
import { type Column, Table } from '../parts/table.js';
import { Foreign, State, When } from '../parts/text.js';
import { formatRoute } from '../router/route.js';

const LOOK_MS = 5_000;
/** Most lines of a log that are shown; older ones give way. */
const MOST = 2_000;

/** A template, its builds, and the log of one of them as it grows. */
export function Template({ team, id, buildId }: { team: string; id: string; buildId: string | undefined }) {
  const polled = usePoll(`template ${team} ${id}`, LOOK_MS, (signal) =>
    clientOf(team).templates.get(id, { signal }),
  );
  const { value } = polled;
  const shown = buildId ?? value?.builds[0]?.buildId;
  const columns: Column<BuildInfo>[] = [
    {
      name: 'Build',
      show: (build) => (
        <a
          class="id"
          href={formatRoute({ team, view: 'templates', id, tab: build.buildId })}
          aria-current={build.buildId === shown ? 'true' : undefined}
        >
          {build.buildId}
        </a>
      ),
    },
    { name: 'State', show: ({ status }) => <State state={status} /> },
    { name: 'Begun', show: ({ createdAt }) => <When time={createdAt} /> },
    {
      name: 'Took',
      numeric: true,
      show: ({ createdAt, finishedAt }) =>
        finishedAt === undefined ? '–' : formatDuration(finishedAt.getTime() - createdAt.getTime()),
    },
    { name: 'CPUs', numeric: true, minor: true, show: ({ cpuCount }) => cpuCount },
    { name: 'Memory', numeric: true, minor: true, show: ({ memoryMiB }) => formatBytes(memoryMiB * 2 ** 20) },
  ];
  return (
    <>
      <div class="head">
        <h1>
          <a href={formatRoute({ team, view: 'templates' })}>Templates</a>
          <span class="faint"> / </span>
          <Foreign text={value?.names[0] ?? id} longest={120} />
        </h1>
      </div>
      <Known polled={polled}>
        {({ builds, templateId }) =>
          builds.length === 0 ? (
            <Empty title="No builds" />
          ) : (
            <>
              <section class="part" aria-label="Builds">
                <Table label="Builds" rows={builds} columns={columns} keyOf={(build) => build.buildId} />
              </section>
              {shown !== undefined && (
                <BuildLog key={shown} team={team} templateId={templateId} buildId={shown} />
              )}
            </>
          )
        }
      </Known>
    </>
  );
}

function BuildLog({ team, templateId, buildId }: { team: string; templateId: string; buildId: string }) {
  const [entries, setEntries] = useState<BuildLogEntry[]>([]);
  const [ended, setEnded] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const over = new AbortController();
    const follow = async () => {
      const build = clientOf(team).templates.openBuild({ templateId, buildId });
      for await (const entry of build.logs({ signal: over.signal, pollIntervalMs: 1_000 }))
        setEntries((before) => [...before.slice(-MOST + 1), entry]);
      setEnded(true);
    };
    follow().catch((thrown) => !over.signal.aborted && setError(thrown));
    return () => over.abort();
  }, [templateId, buildId]);
  return (
    <section class="part" aria-label="Log of the build">
      <h2>Log of {buildId}</h2>
      <Failure error={error} />
      {entries.length === 0 && ended ? (
        <Empty title="This build said nothing" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <div class="log" role="log" aria-label="Log" tabIndex={0}>
          {entries.map((entry, index) => (
            <div key={`${index} ${entry.timestamp.getTime()}`} class={`entry ${entry.level}`}>
              <time dateTime={entry.timestamp.toISOString()}>{formatTime(entry.timestamp).slice(11)}</time>
              <span class="level">{entry.step ?? entry.level}</span>
              <bdi class="message" dir="ltr">
                {visibleText(entry.message)}
              </bdi>
            </div>
          ))}
          {!ended && error === undefined && <div class="entry faint">…</div>}
        </div>
      )}
    </section>
  );
}
