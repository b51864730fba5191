import type { Database } from '../schema.js';
import type { KeyRing } from './key-ring.js';

const SETTING = 'server-key';

/** The server key is not the one that the database was filled with. */
export class ServerKeyError extends Error {
  override readonly name = 'ServerKeyError';
  constructor() {
    super(
      'the server key does not fit the database: secrets and tokens in it belong to another key; put back the server.key of the data directory, or set SVC_SERVER_KEY to what it was',
    );
  }
}

/**
 * Compares the server key with the one that the database was begun with. Going on with another would look well, and
 * refuse every token and lose every secret.
 * @throws {ServerKeyError}
 */
export async function checkServerKey(db: Database, keys: KeyRing): Promise<void> {
  const value = keys.sign('server-key-check', SETTING);
  // Servers that start side by side on one PostgreSQL agree on the first.
  await db
    .insertInto('settings')
    .values({ key: SETTING, value })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
  const known = await db
    .selectFrom('settings')
    .select('value')
    .where('key', '=', SETTING)
    .executeTakeFirstOrThrow();
  if (known.value !== value) throw new ServerKeyError();
}
