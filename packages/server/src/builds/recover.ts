import { rm } from 'node:fs/promises';
import type { ServerContext } from '../context.js';
import { draftsDirectory } from './paths.js';
import { sweepLayers } from './sweep-layers.js';

/**
 * Ends builds that were under way when this node's last process died, and removes what they left. Their instances are
 * destroyed by the recovery of sandboxes, which knows none of them.
 */
export async function recoverBuilds(context: ServerContext): Promise<void> {
  const now = context.now();
  await context.db
    .updateTable('template_builds')
    .set({
      status: 'error',
      reason: JSON.stringify({ message: 'interrupted: start the build again' }),
      updated_at: now,
      finished_at: now,
    })
    .where('status', '=', 'building')
    .where('node_id', '=', context.config.nodeId)
    .execute();
  await rm(draftsDirectory(context.config), { recursive: true, force: true });
  await sweepLayers(context);
}
