import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team.js';
import { errors } from '../../api/errors/catalog.js';
import { toJson } from '../../storage/json.js';
import { isUniqueViolation } from '../../storage/unique-violation.js';
import type { Uses } from '../context.js';
import { encryptSecret } from './encrypt-secret.js';
import { canonicalSecretName, checkSecretMetadata, checkSecretValue, secretIdFromHex } from './rules.js';
import { secretToWire } from './wire.js';

type Context = Uses<'db' | 'ids' | 'keys' | 'now'>;

/**
 * Stores a new secret, version 1.
 * @throws {ApiError} 400, 409 when the name is taken, 409 `secret_limit_reached`
 */
export async function createSecret(
  context: Context,
  team: Team,
  request: components['schemas']['NewSecret'],
): Promise<components['schemas']['Secret']> {
  const name = canonicalSecretName(request.name);
  checkSecretValue(request.value);
  const metadata = request.metadata ?? {};
  checkSecretMetadata(metadata);
  const now = context.now();
  const row = {
    id: secretIdFromHex(context.ids.hex(16)),
    team_id: team.id,
    name,
    current_version: 1,
    metadata: toJson(metadata),
    created_at: now,
    updated_at: now,
  };
  try {
    await context.db.transaction().execute(async (tx) => {
      // The insert comes first: where two requests race, the second waits here (or fails) and then counts the first.
      await tx.insertInto('secrets').values(row).execute();
      await tx
        .insertInto('secret_versions')
        .values({
          secret_id: row.id,
          version: 1,
          encrypted_value: encryptSecret(context.keys, row.id, 1, request.value),
          created_at: now,
        })
        .execute();
      const { count } = await tx
        .selectFrom('secrets')
        .select((select) => select.fn.countAll<number>().as('count'))
        .where('team_id', '=', team.id)
        .executeTakeFirstOrThrow();
      if (Number(count) > team.limits.maxSecrets) throw errors.secretLimitReached(team.limits.maxSecrets);
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw errors.secretNameTaken();
    throw error;
  }
  return secretToWire(row);
}
