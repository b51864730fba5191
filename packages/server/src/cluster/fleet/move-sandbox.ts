import type { NodeRecord } from '../../api/context/nodes.js';
import { isMoving } from '../../sandboxes/state/config.js';
import type { SandboxRow } from '../../sandboxes/state/live.js';
import type { Uses } from '../context.js';
import { destinations } from './destinations.js';
import { type Offer, offer } from './offer.js';
import { isMovable, type TakePorts, takeSandbox } from './take-sandbox.js';

/** Most nodes that are asked to take one sandbox. */
const MOST_TRIES = 3;

export type MovePorts = TakePorts & Uses<'fleet'>;

/** The destination of a sandbox. */
export type Moved = { kind: 'here' } | { kind: 'node'; node: NodeRecord };

/**
 * Has another node take over a paused sandbox of a team whose own node has no place for it, the emptiest first that can resume from
 * its memory. That costs copies of all that is stored of it: nobody else's request may cause them.
 * @returns undefined when it stays where it is, or is not the team's
 */
export async function moveSandbox(
  context: MovePorts,
  { sandboxId, teamId }: { sandboxId: string; teamId: string },
): Promise<Moved | undefined> {
  const { copies, db, log } = context;
  if (!copies.possible) return undefined;
  const row = await db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', sandboxId)
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  // A sandbox on its way already belongs to the node that has it.
  if (row === undefined || !isMovable(row) || isMoving(row)) return undefined;
  const cargo = {
    nodeId: row.node_id,
    memory: row.paused_memory === 1,
    memoryMiB: row.memory_mb,
    runs: false,
  };
  const { nodes } = await destinations(context, cargo);
  const asked = await offerOf(context, row);
  for (const node of nodes.slice(0, MOST_TRIES)) {
    if (node.id !== context.nodes.nodeId) {
      const offered = await offer(context, { nodes: [node], ...asked, signal: context.signal });
      if (offered.node !== undefined) return { kind: 'node', node: offered.node };
      continue;
    }
    await takeSandbox(context, sandboxId, { version: row.version }).catch((error: unknown) => {
      log.warn({ err: error, sandboxId }, 'a paused sandbox was not taken over');
    });
    if ((await asked.home()) === node.id) return { kind: 'here' };
  }
  return undefined;
}

/**
 * Builds the request to other nodes to take over a stored sandbox.
 * @param stays whether a paused one is to stay paused
 */
export async function offerOf(
  { db }: Uses<'db'>,
  row: SandboxRow,
  stays = false,
): Promise<Pick<Offer, 'path' | 'sizeBytes' | 'home'>> {
  const checkpoint = await db
    .selectFrom('checkpoints')
    .select('size_bytes')
    .where('id', '=', row.checkpoint_id ?? '')
    .executeTakeFirst();
  return {
    // A node that is asked late takes no sandbox that has changed since.
    path: `/node/sandboxes/${row.id}/take?version=${row.version}${stays ? '&stays=1' : ''}`,
    sizeBytes: checkpoint?.size_bytes ?? 0,
    home: async () =>
      (await db.selectFrom('sandboxes').select('node_id').where('id', '=', row.id).executeTakeFirst())
        ?.node_id,
  };
}
