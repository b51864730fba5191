import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Semaphore } from '#support/semaphore';
import type { DriverOptions } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { bootDaemon } from './boot-daemon.js';
import { removeTree } from './file-sets.js';
import { killTree } from './process-tree.js';
import { type StoredInstance, writeRecord } from './record.js';

export interface BootSlotOptions {
  /** Directory of the slot. */
  directory: string;
  /** The record of the instance so far. */
  record: StoredInstance;
  daemon: DriverOptions['daemon'];
  /** Daemons that boot at once. */
  boots: Semaphore;
  /** Puts into the home what it begins with. */
  fill(home: string): Promise<void>;
  signal: AbortSignal | undefined;
}

/**
 * Makes the directory and boots the daemon in it. Nothing is left when that fails.
 * @throws {DriverError} `create_failed`, or what `fill` throws of the kind; the signal's reason.
 */
export async function bootSlot(
  options: BootSlotOptions,
): Promise<{ record: StoredInstance; child: ChildProcess }> {
  const { directory, record, daemon, boots, fill, signal } = options;
  const home = join(directory, 'home');
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeRecord(directory, record);
    await fill(home);
    const booted = await boots.run(() => bootDaemon({ daemon, directory, home, signal }));
    const { pid, start, port } = booted;
    return { record: { ...record, daemon: { pid, start, port } }, child: booted.child };
  } catch (error) {
    await killTree({ home }).catch(() => undefined);
    await removeTree(directory);
    if (DriverError.is(error) || signal?.aborted) throw error;
    throw new DriverError('create_failed', 'The sandbox could not be started.', {
      cause: error,
      detail: String(error),
    });
  }
}
