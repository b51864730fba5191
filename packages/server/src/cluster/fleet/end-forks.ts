import { errors } from '../../api/errors/catalog.js';
import type { SandboxPorts } from '../../sandboxes/context.js';
import type { Uses } from '../context.js';
import { removeLost } from './lost-sandboxes.js';

/** Forks that a node was asked for, and that no answer named. */
export interface UnclaimedForks {
  nodeId: string;
  sandboxIds: string[];
}

const ASK_MS = 15_000;

/**
 * Ends what another node may have started after all, once no more can appear. Done when no record of them is left: until then it is
 * to be called again. A node that fell silent ends them when it is back.
 * @throws while some are left
 */
export async function endForks(
  context: SandboxPorts & Uses<'copies' | 'nodes'>,
  { nodeId, sandboxIds }: UnclaimedForks,
): Promise<void> {
  const { copies, db, nodes } = context;
  const left = () =>
    db
      .selectFrom('sandboxes')
      .select(['id', 'team_id'])
      .where('id', 'in', sandboxIds)
      .where('node_id', '=', nodeId)
      .execute();
  for (const { id, team_id: teamId } of await left()) await removeLost(context, { id, teamId }, 'orphaned');
  const rows = await left();
  if (rows.length === 0) return;
  const node = await nodes.findAlive(nodeId);
  if (node === undefined) throw errors.nodeUnreachable();
  const answer = await copies.forwarder.open(node, {
    method: 'POST',
    url: `/node/forks/end?ids=${rows.map(({ id }) => id).join('.')}`,
    signal: AbortSignal.timeout(ASK_MS),
  });
  answer.destroy();
  if ((await left()).length > 0) throw errors.nodeUnreachable();
}
