import type { components } from '@svc/platform';
import { toJson } from '../../storage/json.js';
import type { Uses } from '../context.js';
import { encryptSecret } from './encrypt-secret.js';
import { findSecret } from './find.js';
import { checkSecretMetadata, checkSecretValue } from './rules.js';
import { secretToWire } from './wire.js';

/**
 * Appends a version and makes it the current one. Metadata that is not given stays.
 * @throws {ApiError} 400, 404
 */
export async function updateSecret(
  context: Uses<'db' | 'keys' | 'now'>,
  teamId: string,
  selector: string,
  request: components['schemas']['UpdateSecret'],
): Promise<components['schemas']['Secret']> {
  checkSecretValue(request.value);
  if (request.metadata !== undefined) checkSecretMetadata(request.metadata);
  const { id } = await findSecret(context.db, teamId, selector);
  return context.db.transaction().execute(async (tx) => {
    const now = context.now();
    // The update takes the row's lock, so that two updates get two versions.
    await tx
      .updateTable('secrets')
      .set((update) => ({
        current_version: update('current_version', '+', 1),
        updated_at: now,
        ...(request.metadata === undefined ? {} : { metadata: toJson(request.metadata) }),
      }))
      .where('id', '=', id)
      .where('team_id', '=', teamId)
      .execute();
    const row = await findSecret(tx, teamId, id);
    const ciphertext = encryptSecret(context.keys, id, row.current_version, request.value);
    await tx
      .insertInto('secret_versions')
      .values({ secret_id: id, version: row.current_version, encrypted_value: ciphertext, created_at: now })
      .execute();
    return secretToWire(row);
  });
}
