import type { StoredObject } from '@svc/runtime/contract';
import type { Uses } from '../context.js';

/** Notes that this node has a copy of an object. Written before it is made, so that a crash leaves none without a record. */
export async function recordCopy(
  { config, db, now }: Uses<'config' | 'db' | 'now'>,
  { kind, id }: StoredObject,
  sizeBytes: number,
): Promise<void> {
  await db
    .insertInto('object_copies')
    .values({ kind, object_id: id, node_id: config.nodeId, size_bytes: sizeBytes, created_at: now() })
    .onConflict((conflict) => conflict.columns(['kind', 'object_id', 'node_id']).doNothing())
    .execute();
}

export async function forgetCopy(
  { config, db }: Uses<'config' | 'db'>,
  { kind, id }: StoredObject,
): Promise<void> {
  await db
    .deleteFrom('object_copies')
    .where('kind', '=', kind)
    .where('object_id', '=', id)
    .where('node_id', '=', config.nodeId)
    .execute();
}

/** Nodes that have an object beside the one that made it, or may: a copy that failed is found out by asking. */
export async function copyHolders({ db }: Uses<'db'>, { kind, id }: StoredObject): Promise<string[]> {
  const rows = await db
    .selectFrom('object_copies')
    .select('node_id')
    .where('kind', '=', kind)
    .where('object_id', '=', id)
    .orderBy('created_at')
    .execute();
  return rows.map(({ node_id: nodeId }) => nodeId);
}

/** Returns the most bytes of an object, by its record, or by its kind where there is no record. */
export async function mostBytesOf({ db }: Uses<'db'>, { kind, id }: StoredObject): Promise<number> {
  if (kind === 'agent' || kind === 'base') return FIXED_BYTES;
  const found =
    kind === 'checkpoint'
      ? db.selectFrom('checkpoints').select('size_bytes').where('id', '=', id)
      : db.selectFrom('layers').select('size_bytes').where('layer_id', '=', id);
  const { size_bytes: sizeBytes = 0 } = (await found.executeTakeFirst()) ?? {};
  return sizeBytes === 0 ? MOST_BYTES : sizeBytes * 2 + SLACK_BYTES;
}

const FIXED_BYTES = 8 * 2 ** 30;
const MOST_BYTES = 32 * 2 ** 30;
/** Data that is shared on one store takes room of its own on another. */
const SLACK_BYTES = 2 ** 30;
