import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Name of the file in the data directory. */
const FILE = 'operator-token';
/** Unlike that of API keys, so that one is never taken for the other. */
const PREFIX = 'svcop_';
const LEAST_LENGTH = 32;

/**
 * Reads the operator token, making the file (mode 0600) on first use.
 * @param given from the configuration; wins over the file, and is never written.
 */
export async function loadOperatorToken(dataDir: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return check(given, 'the configured operator token');
  const file = path.join(dataDir, FILE);
  const known = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (known === undefined) {
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${PREFIX}${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
    // Linked, not written: half a token must never be read.
    await link(draft, file).finally(() => rm(draft, { force: true }));
  }
  await chmod(file, 0o600);
  return check((known ?? (await readFile(file, 'utf8'))).trim(), 'the operator token in the data directory');
}

function check(token: string, what: string): string {
  if (token.length >= LEAST_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error(`${what} must be at least ${LEAST_LENGTH} printable characters without blanks`);
}

/** Returns whether an `Authorization` header carries the token. Takes the same time for every difference. */
export function carriesToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
