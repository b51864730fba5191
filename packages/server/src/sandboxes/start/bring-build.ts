import type { StoredObject } from '@svc/runtime/contract';
import { fromJson } from '../../storage/json.js';
import type { Uses } from '../context.js';
import type { ResolvedTemplate } from '../state/resolved-template.js';

/** Lists the stored objects that a sandbox of a build starts from. */
export function objectsOf({ build }: Pick<ResolvedTemplate, 'build'>): StoredObject[] {
  return [
    ...fromJson(build.layers).map((id) => ({ kind: 'layer' as const, id })),
    ...(build.checkpoint_id === null ? [] : [{ kind: 'checkpoint' as const, id: build.checkpoint_id }]),
  ];
}

/** Sees to it that a sandbox of a build can start here. @throws {ApiError} 503; {DriverError} why it cannot be used here */
export async function bringBuild(
  { copies, nodes }: Uses<'copies' | 'nodes'>,
  resolved: Pick<ResolvedTemplate, 'build'>,
): Promise<void> {
  const { node_id: home } = resolved.build;
  if (!copies.possible || home === null || home === nodes.nodeId) return;
  for (const object of objectsOf(resolved)) await copies.holding(object, () => copies.bring(object, [home]));
}

/** Returns the nodes that have all that a build starts from, by the records. */
export async function holdersOf(
  { db }: Uses<'db'>,
  resolved: Pick<ResolvedTemplate, 'build'>,
): Promise<Set<string>> {
  const objects = objectsOf(resolved);
  const rows = await db
    .selectFrom('object_copies')
    .select(['node_id', 'kind', 'object_id'])
    .where(
      'object_id',
      'in',
      objects.map(({ id }) => id),
    )
    .execute();
  const counts = new Map<string, number>();
  for (const { node_id: nodeId } of rows) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count >= objects.length).map(([nodeId]) => nodeId));
}
