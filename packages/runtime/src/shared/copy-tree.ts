import { mkdir } from 'node:fs/promises';
import { saysDiskFull } from '#support/disk-full';
import { DriverError } from '../contract/errors.js';
import { runProgram } from './run-program.js';

/**
 * Copies what is in `from` into `to` (made when missing), over what is there: owners, modes, times, links and extended
 * attributes included, sharing blocks where the file system can.
 * @throws {DriverError} `storage_full`. An abort rejects with the signal's reason; the part copied so far stays.
 */
export async function copyTree(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const how = process.platform === 'linux' ? ['-a', '--reflink=auto'] : ['-Rpc'];
  const { exitCode, stderr } = await runProgram('cp', [...how, `${from}/.`, to], { signal });
  if (exitCode === 0) return;
  if (saysDiskFull(stderr)) {
    throw new DriverError('storage_full', 'There is not enough disk space to store the file system.', {
      detail: stderr,
    });
  }
  throw new Error(`cp ended with ${exitCode}: ${stderr.slice(0, 500)}`);
}
