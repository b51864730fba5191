import type { ApiKey } from '@svc/sdk';
import { operator } from '../connection/clients.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';

/** The keys of a team, by name. Read when asked: the audit trail notes each look. */
export function Keys({ team }: { team: string }) {
  const pages = usePages(`keys ${team}`, 0, async (_token, signal) => ({
    items: await operator.teams.keys.list(team, { signal }),
    nextToken: undefined,
  }));
  const columns: Column<ApiKey>[] = [
    { name: 'Key', show: ({ name }) => <Foreign text={name} longest={130} /> },
    {
      name: 'Last used',
      show: ({ lastUsedAt }) => <When time={lastUsedAt} />,
    },
    { name: 'Expires', show: (key) => <Expiry {...key} /> },
    { name: 'Made', show: ({ createdAt }) => <When time={createdAt} /> },
    {
      name: 'Id',
      minor: true,
      show: ({ apiKeyId }) => <span class="id">{apiKeyId}</span>,
    },
    {
      name: 'Audit trail',
      show: ({ apiKeyId }) => (
        <a class="brief" href={formatRoute({ team, view: 'audit', query: { actor: apiKeyId } })}>
          what it did
        </a>
      ),
    },
  ];
  return (
    <ListView
      title="Keys"
      part
      pages={pages}
      columns={columns}
      keyOf={({ apiKeyId }) => apiKeyId}
      empty="No keys"
      hint={
        <>
          Make one with <code>svc key create NAME --team {team}</code>. Keys are neither made nor shown here.
        </>
      }
    >
      <button type="button" onClick={pages.reload}>
        Look again
      </button>
    </ListView>
  );
}

function Expiry({ expiresAt, successorId }: Pick<ApiKey, 'expiresAt' | 'successorId'>) {
  return (
    <>
      {expiresAt !== undefined && expiresAt.getTime() <= Date.now() && <strong class="bad">expired </strong>}
      <When time={expiresAt} />
      {successorId !== undefined && <span class="faint"> rotated</span>}
    </>
  );
}
