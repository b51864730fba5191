import type { Webhook as WebhookInfo } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign, State, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';

const LOOK_MS = 10_000;

/** The webhooks of a team. */
export function Webhooks({ team }: { team: string }) {
  const pages = usePages(`webhooks ${team}`, LOOK_MS, async (_token, signal) => ({
    items: await clientOf(team).webhooks.list({ signal }),
    nextToken: undefined,
  }));
  const columns: Column<WebhookInfo>[] = [
    {
      name: 'Webhook',
      show: ({ id, name }) => (
        <a href={formatRoute({ team, view: 'webhooks', id })}>
          <Foreign text={name} longest={120} />
        </a>
      ),
    },
    { name: 'Address', show: ({ url }) => <Foreign text={url} longest={200} /> },
    { name: 'State', show: ({ enabled }) => <State state={enabled ? 'enabled' : 'disabled'} /> },
    {
      name: 'Events',
      minor: true,
      show: ({ events }) => events.map((event) => event.slice(event.lastIndexOf('.') + 1)).join(', '),
    },
    { name: 'Made', minor: true, show: ({ createdAt }) => <When time={createdAt} /> },
  ];
  return (
    <ListView
      title="Webhooks"
      pages={pages}
      columns={columns}
      keyOf={({ id }) => id}
      empty="No webhooks"
      hint={
        <>
          Make one with <code>svc webhook create</code>.
        </>
      }
    />
  );
}
