import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { Uses } from '../context.js';

const MAX_FILE_BYTES = 16_384;

/** Sources from which secrets may take their values, as the operator allows. */
interface SecretProviders {
  /** Variables of the server's environment. */
  variables: readonly string[];
  /** Absolute directories. */
  directories: readonly string[];
}

/**
 * The current value of a team's secret.
 * @returns undefined when there is none of this name, or its provider has no value.
 */
export async function secretValue(
  context: Uses<'config' | 'db' | 'keys'>,
  teamId: string,
  name: string,
): Promise<string | undefined> {
  const row = await context.db
    .selectFrom('secrets')
    .innerJoin('secret_versions', (join) =>
      join
        .onRef('secret_versions.secret_id', '=', 'secrets.id')
        .onRef('secret_versions.version', '=', 'secrets.current_version'),
    )
    .select(['secrets.id', 'secret_versions.version', 'secret_versions.encrypted_value'])
    .where('secrets.team_id', '=', teamId)
    .where('secrets.name', '=', name)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const text = decryptSecret(context.keys, row.id, row.version, row.encrypted_value);
  return resolveMarker(text, context.config.egress.providers);
}

/**
 * Resolves a stored value: `env:NAME` and `file:PATH` to the value of a provider, everything else to itself. A form is
 * known only where the operator allows something of it.
 */
export async function resolveMarker(
  value: string,
  providers: SecretProviders,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const [, scheme, rest = ''] = /^(env|file):(.+)$/s.exec(value) ?? [];
  if (scheme === 'env' && providers.variables.length > 0)
    return providers.variables.includes(rest) ? env[rest] || undefined : undefined;
  if (scheme === 'file' && providers.directories.length > 0) return readAllowed(rest, providers.directories);
  return value;
}

async function readAllowed(name: string, directories: readonly string[]): Promise<string | undefined> {
  if (!path.isAbsolute(name)) return undefined;
  try {
    // Links are followed first: what counts is where the file really is.
    const file = await realpath(name);
    const allowed = await Promise.all(directories.map((each) => realpath(each).catch(() => undefined)));
    if (!allowed.some((each) => each !== undefined && file.startsWith(`${each}${path.sep}`)))
      return undefined;
    const handle = await open(file);
    try {
      const entry = await handle.stat();
      if (!entry.isFile() || entry.size > MAX_FILE_BYTES) return undefined;
      return (await handle.readFile('utf8')).replace(/\r?\n$/, '') || undefined;
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

const purposeOf = (secretId: string, version: number) => `secret:${secretId}:${version}`;

/** Id and version are part of the purpose: a ciphertext that is moved to another row is not decrypted there. */
export function encryptSecret(keys: KeyRing, secretId: string, version: number, value: string): string {
  return keys.encrypt(purposeOf(secretId, version), value);
}

/** @throws {Error} when the text was not encrypted by this key for this version of this secret. */
function decryptSecret(keys: KeyRing, secretId: string, version: number, ciphertext: string): string {
  return keys.decrypt(purposeOf(secretId, version), ciphertext);
}
