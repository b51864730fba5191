import path from 'node:path';
import { Readable } from 'node:stream';
import type { components } from '@svc/platform';
import type { Team } from '../../../api/auth/team-store.js';
import { errors } from '../../../api/errors/catalog.js';
import { findTemplate } from '../../../sandboxes/records/find-template.js';
import { parseTemplateReference } from '../../../sandboxes/records/template-reference.js';
import { draftsDirectory, filesArchive } from '../../../storage/builds/paths.js';
import { assertDiskRoom } from '../../../teams/quota/storage-use.js';
import type { Uses } from '../../context.js';
import { refuseSystem } from '../../find-own.js';
import { findFiles } from './find-files.js';
import { receiveArchive } from './receive-archive.js';
import { signUpload, verifyUpload } from './upload-token.js';

/**
 * Stores the files that a link was made for. Repeating it is fine.
 * @throws {ApiError} 400 bad archive; 503 no room on the server's disk; 403 bad link; 404 the template was deleted; 413
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

const LINK_LIFE_MS = 3_600_000;

/**
 * Returns whether files are stored where a build can have them, and where to upload them when they are not.
 * @throws {ApiError} 400 bad hash; 404, for the template of another team as well
 */
export async function filesLink(
  context: Uses<'config' | 'db' | 'keys' | 'nodes' | 'now'>,
  team: Team,
  templateText: string,
  hash: string,
): Promise<components['schemas']['TemplateFilesLink']> {
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw errors.badRequest('the hash must be 64 lower-case hexadecimal digits');
  const template = await findTemplate(context, team, parseTemplateReference(templateText));
  if (template === undefined || template.team_id !== team.id) throw errors.templateNotFound(templateText);
  await refuseSystem(context.db, template.id);
  const { kind } = await findFiles(context, template.id, hash);
  if (kind === 'here' || kind === 'node') return { present: true };
  const token = signUpload(context.keys, {
    templateId: template.id,
    hash,
    expiresAtMs: context.now() + LINK_LIFE_MS,
  });
  return { present: false, url: `${context.config.apiUrl}/templates/uploads/${token}` };
}
