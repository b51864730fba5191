import { randomBytes } from 'node:crypto';
import { chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
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

/**
 * Reads the server's root key, making the file (mode 0600) on first use.
 * @param given 64 hex digits from the configuration; wins over the file, and is never written.
 */
export async function loadServerKey(dataDir: string, given: string | undefined): Promise<Buffer> {
  if (given !== undefined) return parse(given, 'the configured server key');
  const file = path.join(dataDir, 'server.key');
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known !== undefined) {
    await chmod(file, 0o600);
    return parse(known.trim(), 'server.key in the data directory');
  }
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft, { force: true });
  return parse((await readFile(file, 'utf8')).trim(), 'server.key in the data directory');
}

function parse(text: string, what: string): Buffer {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new Error(`${what} must be 64 hexadecimal digits`);
  return Buffer.from(text, 'hex');
}
