import path from 'node:path';
import { Readable } from 'node:stream';
import { errors } from '../../../api/errors/catalog.js';
import { draftsDirectory, filesArchive } from '../../../storage/builds/paths.js';
import { assertDiskRoom } from '../../../teams/quota/disk-room.js';
import type { Uses } from '../../context.js';
import { receiveArchive } from './receive-archive.js';
import { verifyUpload } from './upload-token.js';

/**
 * Stores the files that a link was made for. Repeating it is fine.
 * @throws {ApiError} 400 bad archive; 503 no room on the server's disk; 403 bad link; 404 the template is gone; 413
 */
export async function uploadFiles(
  context: Uses<'config' | 'db' | 'ids' | 'keys' | 'now'>,
  token: string,
  body: unknown,
  signal: AbortSignal,
): Promise<void> {
  const grant = verifyUpload(context.keys, token, context.now());
  if (!(await exists(context, grant.templateId))) throw errors.templateNotFound(grant.templateId);
  await assertDiskRoom(context);
  if (!(body instanceof Readable)) throw errors.archiveRefused('it is empty');
  const { sizeBytes, digest } = await receiveArchive({
    body,
    target: filesArchive(context.config, grant.templateId, grant.hash),
    draft: path.join(draftsDirectory(context.config), context.ids.uuid()),
    limitBytes: context.config.uploadLimitBytes,
    archives: context.config.archives,
    signal,
  });
  const place = { size_bytes: sizeBytes, digest, node_id: context.config.nodeId };
  await context.db
    .insertInto('build_files')
    .values({ template_id: grant.templateId, hash: grant.hash, created_at: context.now(), ...place })
    .onConflict((conflict) => conflict.columns(['template_id', 'hash']).doUpdateSet(place))
    .execute();
}

async function exists(context: Uses<'db'>, templateId: string): Promise<boolean> {
  const row = await context.db
    .selectFrom('templates')
    .select('id')
    .where('id', '=', templateId)
    .executeTakeFirst();
  return row !== undefined;
}
