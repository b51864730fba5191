import type { VolumeInfo } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { ListView } from '../parts/list-view.js';
import type { Column } from '../parts/table.js';
import { Foreign } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';

const LOOK_MS = 10_000;

const columns: Column<VolumeInfo>[] = [
  { name: 'Volume', show: ({ name }) => <Foreign text={name} longest={120} /> },
  { name: 'Id', show: ({ volumeId }) => <span class="id">{volumeId}</span> },
];

/** The volumes of a team. */
export function Volumes({ team }: { team: string }) {
  const pages = usePages(`volumes ${team}`, LOOK_MS, async (_token, signal) => ({
    items: await clientOf(team).volumes.list({ signal }),
    nextToken: undefined,
  }));
  return (
    <ListView
      title="Volumes"
      pages={pages}
      columns={columns}
      keyOf={({ volumeId }) => volumeId}
      empty="No volumes"
      hint={
        <>
          Make one with <code>svc volume create NAME</code>.
        </>
      }
    />
  );
}
