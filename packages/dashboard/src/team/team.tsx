import { NotFoundError } from '@svc/sdk';
import type { OperatedTeam, TeamUsage, TeamUse } from '@svc/sdk/operator';
import { useEffect, useState } from 'preact/hooks';
import { operator } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { usageLines } from '../format/usage-hours.js';
import { Known } from '../parts/known.js';
import { Empty } from '../parts/notice.js';
import { Plot } from '../parts/plot.js';
import { Spans } from '../parts/spans.js';
import { Foreign } from '../parts/text.js';
import { formatRoute } from '../router/route.js';
import { Keys } from './keys.js';
import { Quotas } from './quotas.js';
import { SetLimits } from './set-limits.js';
import { Standing } from './standing.js';

const LOOK_MS = 10_000;
/** Between two looks at what is used, ms: the server adds up the disk of the team for each. */
const USAGE_LOOK_MS = 30_000;

const spans = [
  ['24 h', 86_400_000],
  ['7 d', 604_800_000],
  ['30 d', 2_592_000_000],
] as const;

const tabs = { usage: 'Usage', keys: 'Keys' };

/** A team: what it may use, what it used, and its keys. */
export function Team({ id, tab = 'usage' }: { id: string; tab: string | undefined }) {
  const team = usePoll(`team ${id}`, LOOK_MS, (signal) => operator.teams.get(id, { signal }));
  const { value } = team;
  const chosen = tab in tabs ? tab : 'usage';
  if (NotFoundError.is(team.error))
    return (
      <Empty title={`There is no team ${id}`}>
        <p>
          <a href={formatRoute({ view: 'teams' })}>Show all teams</a>
        </p>
      </Empty>
    );
  return (
    <>
      <div class="head">
        <h1>
          <a href={formatRoute({ team: id, view: 'teams' })}>Teams</a>
          <span class="faint"> / </span>
          <Foreign text={value?.slug ?? id} longest={100} />
        </h1>
        {value !== undefined && <Standing team={value} />}
        {value !== undefined && value.name !== value.slug && (
          <span class="faint">
            <Foreign text={value.name} longest={130} />
          </span>
        )}
        <div class="buttons">
          <a href={formatRoute({ team: id, view: 'sandboxes' })}>Sandboxes</a>
          <a href={formatRoute({ team: id, view: 'audit', query: { team: id } })}>Audit trail</a>
        </div>
      </div>
      <nav class="tabs" aria-label="Parts of the team">
        {Object.entries(tabs).map(([name, text]) => (
          <a
            key={name}
            href={formatRoute({ team: id, view: 'teams', id, tab: name })}
            aria-current={chosen === name ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      {chosen === 'keys' ? (
        <Keys team={id} />
      ) : (
        <Known polled={team}>{(known) => <Overview team={known} onChange={team.reload} />}</Known>
      )}
    </>
  );
}

function Overview({ team, onChange }: { team: OperatedTeam; onChange: () => void }) {
  const [spanMs, setSpanMs] = useState<number>(spans[0][1]);
  const [asking, setAsking] = useState(false);
  const usage = usePoll(`usage ${team.teamId} ${spanMs}`, USAGE_LOOK_MS, async (signal) => {
    const to = Date.now();
    const from = to - spanMs;
    return { from, to, usage: await operator.teams.usage(team.teamId, { from: new Date(from), signal }) };
  });
  // Another span of time has nothing to do with what is used now.
  const [use, setUse] = useState<TeamUse>();
  useEffect(() => {
    if (usage.value !== undefined) setUse(usage.value.usage.use);
  }, [usage.value]);
  return (
    <>
      <section class="part" aria-labelledby="quotas">
        <div class="head">
          <h2 id="quotas">Limits</h2>
          <div class="buttons">
            <button type="button" onClick={() => setAsking(true)}>
              Set limits
            </button>
          </div>
        </div>
        <Quotas team={team} use={use} />
      </section>
      <section class="part" aria-labelledby="usage">
        <div class="head">
          <h2 id="usage">Hour by hour</h2>
          <Spans spans={spans} chosen={spanMs} onChoose={setSpanMs} />
        </div>
        <Known polled={usage}>{(known) => <Usage {...known} />}</Known>
      </section>
      {asking && <SetLimits team={team} use={use} onDone={onChange} onClose={() => setAsking(false)} />}
    </>
  );
}

/** The use of a team hour by hour, as plots. */
function Usage({ usage, from, to }: { usage: TeamUsage; from: number; to: number }) {
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
