import { DirectoryLockedError, lockDirectory } from '#support/directory-lock';
import { DriverError } from '../contract/errors.js';

export type { DirectoryLock as DataDirLock } from '#support/directory-lock';

/**
 * Makes the data directory of a driver (mode 0700) and takes it for this process.
 * @throws {DriverError} `busy` while a living process holds it.
 */
export async function lockDataDir(dataDir: string) {
  return lockDirectory(dataDir, 'driver.lock').catch((error: unknown) => {
    if (!(error instanceof DirectoryLockedError)) throw error;
    throw new DriverError('busy', `The data directory is in use by process ${error.pid}.`);
  });
}
