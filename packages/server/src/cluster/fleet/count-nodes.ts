import type { Uses } from '../context.js';
import { nodeIsAlive } from '../nodes/database-clock.js';

/** How many servers share the database, by what they are. */
export interface NodeCounts {
  alive: number;
  /** Of those that live, how many get no new sandboxes. */
  drained: number;
  silent: number;
  stopped: number;
}

/** Undefined for a server with a database of its own. */
export async function countNodes({ db, nodes }: Uses<'db' | 'nodes'>): Promise<NodeCounts | undefined> {
  if (!nodes.shared) return undefined;
  const rows = await db
    .selectFrom('nodes')
    .select(['drain', 'heartbeat_at', nodeIsAlive.as('alive')])
    .execute();
  const counts = { alive: 0, drained: 0, silent: 0, stopped: 0 };
  for (const { alive, drain, heartbeat_at: heartbeatAt } of rows) {
    if (alive) counts.alive += 1;
    else counts[heartbeatAt === 0 ? 'stopped' : 'silent'] += 1;
    if (alive && drain !== 'no') counts.drained += 1;
  }
  return counts;
}
