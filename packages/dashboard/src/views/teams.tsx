import type { OperatedTeam } from '@svc/sdk/operator';
import { listTeams } from '../connection/clients.js';
import { formatLimit } from '../format/limits.js';
import { formatCount } from '../format/numbers.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';
import { Standing } from '../team/standing.js';

const LOOK_MS = 10_000;

const columns: Column<OperatedTeam>[] = [
  {
    name: 'Team',
    show: ({ slug }) => <a href={formatRoute({ team: slug, view: 'teams', id: slug })}>{slug}</a>,
  },
  { name: 'Name', show: ({ name }) => <Foreign text={name} longest={130} /> },
  { name: 'Standing', show: (team) => <Standing team={team} /> },
  { name: 'Sandboxes', numeric: true, show: ({ limits }) => formatCount(limits.maxConcurrentSandboxes) },
  { name: 'Longest run', numeric: true, show: ({ limits }) => formatLimit('time', limits.maxTimeoutMs) },
  { name: 'CPUs', numeric: true, minor: true, show: ({ limits }) => limits.maxCpuCount },
  {
    name: 'Memory',
    numeric: true,
    minor: true,
    show: ({ limits }) => formatLimit('size', limits.maxMemoryMiB),
  },
  { name: 'Made', minor: true, show: ({ createdAt }) => <When time={createdAt} /> },
];

/** All teams, with what they may use. */
export function Teams() {
  const pages = usePages('all teams', LOOK_MS, async (_token, signal) => ({
    items: await listTeams(signal),
    nextToken: undefined,
  }));
  return (
    <ListView
      title="Teams"
      pages={pages}
      columns={columns}
      keyOf={({ teamId }) => teamId}
      empty="No teams"
      hint={
        <>
          Make one with <code>svc team create NAME</code>.
        </>
      }
    />
  );
}
