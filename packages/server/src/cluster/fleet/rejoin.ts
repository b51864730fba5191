import type { SandboxPorts } from '../../sandboxes/context.js';
import { endedElsewhere } from '../../sandboxes/recovery/ended-elsewhere.js';

/** Ends and reads again what others changed of this node's sandboxes while they took it for dead. */
export async function rejoin(context: SandboxPorts): Promise<void> {
  const rows = await context.db
    .selectFrom('sandboxes')
    .select(['id', 'version'])
    .where('node_id', '=', context.config.nodeId)
    .execute();
  const versions = new Map(rows.map((row) => [row.id, row.version]));
  for (const live of [...context.sandboxes.values()]) {
    // One in transition writes its row, and finds out by itself.
    if (live.transition !== undefined || live.row.state === 'creating') continue;
    const version = versions.get(live.row.id);
    if (version === undefined) await endedElsewhere(context, live);
    else if (version !== live.row.version) {
      live.stale = true;
      context.repairs.later(live);
    }
  }
}
