import type { Secret } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, Pairs, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';

const columns: Column<Secret>[] = [
  { name: 'Secret', show: ({ name }) => <Foreign text={name} longest={130} /> },
  { name: 'Version', numeric: true, show: ({ currentVersion }) => currentVersion },
  { name: 'Changed', show: ({ updatedAt }) => <When time={updatedAt} /> },
  { name: 'Made', minor: true, show: ({ createdAt }) => <When time={createdAt} /> },
  { name: 'Metadata', minor: true, show: ({ metadata }) => <Pairs pairs={metadata} longest={40} /> },
];

/** Names of the secrets of a team. Read when asked: the audit trail notes each look. */
export function Secrets({ team }: { team: string }) {
  const pages = usePages(`secrets ${team}`, 0, (nextToken, signal) =>
    clientOf(team).secrets.list({ nextToken, signal }),
  );
  return (
    <ListView
      title="Secrets"
      pages={pages}
      columns={columns}
      keyOf={({ secretId }) => secretId}
      empty="No secrets"
      hint={
        <>
          Store one with <code>svc secret create NAME</code>. Values are shown nowhere.
        </>
      }
    >
      <button type="button" onClick={pages.reload}>
        Look again
      </button>
    </ListView>
  );
}
