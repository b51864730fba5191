import type { Team } from '@svc/platform/operator';
import { listTeams } from '../connection/clients.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { formatDuration } from '../format/times.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, State, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';

const LOOK_MS = 10_000;

const columns: Column<Team>[] = [
  { name: 'Team', show: ({ slug }) => <a href={formatRoute({ team: slug, view: 'sandboxes' })}>{slug}</a> },
  { name: 'Name', show: ({ name }) => <Foreign text={name} longest={130} /> },
  {
    name: 'Standing',
    show: ({ banned, blocked, blockedReason }) => (
      <>
        <State state={banned ? 'banned' : blocked ? 'blocked' : 'active'} />{' '}
        {blockedReason !== null && <Foreign text={blockedReason} longest={80} />}
      </>
    ),
  },
  { name: 'Sandboxes', numeric: true, show: ({ limits }) => formatCount(limits.maxConcurrentSandboxes) },
  {
    name: 'Longest run',
    numeric: true,
    show: ({ limits }) => formatDuration(limits.maxTimeToLiveSeconds * 1_000),
  },
  { name: 'CPUs', numeric: true, minor: true, show: ({ limits }) => limits.maxCpuCount },
  {
    name: 'Memory',
    numeric: true,
    minor: true,
    show: ({ limits }) => formatBytes(limits.maxMemoryMB * 2 ** 20),
  },
  { name: 'Made', minor: true, show: ({ createdAt }) => <When time={new Date(createdAt)} /> },
];

/** All teams, with what they may use. */
export function Teams() {
  const pages = usePages('all teams', LOOK_MS, async () => ({
    items: await listTeams(),
    nextToken: undefined,
  }));
  return (
    <ListView
      title="Teams"
      pages={pages}
      columns={columns}
      keyOf={({ teamID }) => teamID}
      empty="No teams"
      hint={
        <>
          Make one with <code>svc team create NAME</code>.
        </>
      }
    />
  );
}
