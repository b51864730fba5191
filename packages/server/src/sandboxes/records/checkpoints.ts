import type { CheckpointsTable, Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';

export type CheckpointOwner = Pick<CheckpointsTable, 'owner_kind' | 'owner_id' | 'team_id'>;

/** Records a checkpoint before it is made, so that a crash leaves none without a record. */
export async function recordCheckpoint(
  context: Uses<'config' | 'now'>,
  tx: Tx,
  id: string,
  owner: CheckpointOwner,
  memory: boolean,
): Promise<void> {
  await tx
    .insertInto('checkpoints')
    .values({
      id,
      node_id: context.config.nodeId,
      ...owner,
      memory: memory ? 1 : 0,
      size_bytes: 0,
      created_at: context.now(),
    })
    .execute();
}

/** Records the size of a checkpoint, once it is known. */
export async function recordCheckpointSize(
  db: Pick<Tx, 'updateTable'>,
  id: string,
  sizeBytes: number,
): Promise<void> {
  await db.updateTable('checkpoints').set({ size_bytes: sizeBytes }).where('id', '=', id).execute();
}

/** Removes a checkpoint that nobody needs any more. What fails here is removed by the reaper at the next start. */
export async function dropCheckpoint(context: Uses<'db' | 'driver' | 'log'>, id: string): Promise<void> {
  try {
    await context.driver.deleteCheckpoint(id);
    await context.db.deleteFrom('checkpoints').where('id', '=', id).execute();
  } catch (error) {
    context.log.warn({ err: error, checkpointId: id }, 'a checkpoint could not be deleted');
  }
}
