import type { Database } from '../../storage/schema.js';
import { findSecret } from './find.js';

/** Revokes a secret with all its versions; the name is free again. @throws {ApiError} 400, 404 */
export async function deleteSecret(db: Database, teamId: string, selector: string): Promise<void> {
  const { id } = await findSecret(db, teamId, selector);
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('secret_versions').where('secret_id', '=', id).execute();
    await tx.deleteFrom('secrets').where('id', '=', id).execute();
  });
}
