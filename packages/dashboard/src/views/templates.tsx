import type { TemplateInfo } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, State, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';

const LOOK_MS = 5_000;

/** The templates of a team, with their newest builds. */
export function Templates({ team }: { team: string }) {
  const pages = usePages(`templates ${team}`, LOOK_MS, (nextToken, signal) =>
    clientOf(team).templates.list({ nextToken, signal }),
  );
  const columns: Column<TemplateInfo>[] = [
    {
      name: 'Template',
      show: ({ names, templateId }) => (
        <a href={formatRoute({ team, view: 'templates', id: templateId })}>
          <Foreign text={names[0] ?? templateId} longest={120} />
        </a>
      ),
    },
    { name: 'Newest build', show: ({ buildStatus }) => <State state={buildStatus} /> },
    { name: 'Builds', numeric: true, show: ({ buildCount }) => formatCount(buildCount) },
    { name: 'Started', numeric: true, show: ({ spawnCount }) => `${formatCount(spawnCount)} times` },
    { name: 'Last start', minor: true, show: ({ lastSpawnedAt }) => <When time={lastSpawnedAt} /> },
    { name: 'CPUs', numeric: true, minor: true, show: ({ cpuCount }) => cpuCount },
    { name: 'Memory', numeric: true, minor: true, show: ({ memoryMiB }) => formatBytes(memoryMiB * 2 ** 20) },
    { name: 'Changed', show: ({ updatedAt }) => <When time={updatedAt} /> },
    { name: 'Public', minor: true, show: (row) => (row.public ? 'yes' : 'no') },
  ];
  return (
    <ListView
      title="Templates"
      pages={pages}
      columns={columns}
      keyOf={({ templateId }) => templateId}
      empty="No templates"
      hint={
        <>
          Build one with <code>svc template init</code> and <code>svc template build</code>.
        </>
      }
    />
  );
}
