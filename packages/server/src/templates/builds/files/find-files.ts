import { access } from 'node:fs/promises';
import type { NodeRecord } from '../../../api/context/nodes.js';
import { filesArchive } from '../../../storage/builds/paths.js';
import type { Uses } from '../../context.js';

/** The place of uploaded files. `unreachable`: only a node that does not live has them. */
export type FilesPlace =
  | { kind: 'here'; archive: string }
  | { kind: 'node'; node: NodeRecord; sizeBytes: number; digest: string }
  | { kind: 'unreachable' | 'missing' };

export async function findFiles(
  { config, db, nodes }: Uses<'config' | 'db' | 'nodes'>,
  templateId: string,
  hash: string,
): Promise<FilesPlace> {
  const archive = filesArchive(config, templateId, hash);
  const here = await access(archive).then(
    () => true,
    () => false,
  );
  if (here) return { kind: 'here', archive };
  const row = await db
    .selectFrom('build_files')
    .select(['node_id', 'size_bytes', 'digest'])
    .where('template_id', '=', templateId)
    .where('hash', '=', hash)
    .executeTakeFirst();
  if (!nodes.shared || row === undefined || row.node_id === null || row.digest === null)
    return { kind: 'missing' };
  if (row.node_id === nodes.nodeId) return { kind: 'missing' };
  const node = await nodes.findAlive(row.node_id);
  if (node === undefined) return { kind: 'unreachable' };
  return { kind: 'node', node, sizeBytes: row.size_bytes, digest: row.digest };
}
