import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataDirectoryError } from './private-directory.js';

/** Stands in a data directory while a restore works on it. */
const MARK = 'restore-unfinished';

export async function markRestore(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, MARK), `${new Date().toISOString()}\n`, { mode: 0o600 });
}

export async function unmarkRestore(dataDir: string): Promise<void> {
  await rm(join(dataDir, MARK), { force: true });
}

export async function isHalfRestored(dataDir: string): Promise<boolean> {
  return (await lstat(join(dataDir, MARK)).catch(() => undefined)) !== undefined;
}

/**
 * A server that started there would take what lacks for deleted, and clean up the rest.
 * @throws {DataDirectoryError} while a restore works on the directory, or when one broke off
 */
export async function requireWhole(dataDir: string): Promise<void> {
  if (await isHalfRestored(dataDir))
    throw new DataDirectoryError(
      `a backup is being restored into ${dataDir}, or that broke off: let \`svc server restore FILE --data-dir ${dataDir}\` end, or run it again`,
    );
}
