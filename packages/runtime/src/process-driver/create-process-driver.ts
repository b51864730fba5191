import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Driver, DriverOptions } from '../contract/driver.js';
import { lockDataDir } from '../shared/data-dir-lock.js';
import { removeTree } from './file-sets.js';
import { pathsOf } from './paths.js';
import { ProcessDriver } from './process-driver.js';
import { isLeftStopped, readRecord, type StoredInstance } from './record.js';

/**
 * Opens a data directory with the driver that isolates nothing. For trying things out and for fast tests: what runs in
 * its sandboxes can read and change everything that the user of the server can. Needs no privileges.
 * @throws {DriverError} `busy` while another driver has the data directory.
 */
export async function createProcessDriver(options: DriverOptions): Promise<Driver> {
  const lock = await lockDataDir(options.dataDir);
  const paths = pathsOf(options.dataDir);
  await removeTree(paths.drafts).catch((error: unknown) =>
    options.log?.('warn', 'Drafts of an earlier run could not be removed.', { error: String(error) }),
  );
  for (const path of [paths.instances, paths.layers, paths.checkpoints, paths.drafts]) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
  const records = new Map<string, StoredInstance>();
  for (const slot of await readdir(paths.instances)) {
    const record = await readRecord(join(paths.instances, slot));
    if (record?.phase === 'ready') records.set(record.id, record);
  }
  options.log?.(
    'warn',
    'The process driver gives NO ISOLATION: sandboxes are plain processes with all the rights of this server. Never run untrusted code with it.',
  );
  const driver = new ProcessDriver(options, lock, paths, records.values());
  const toThaw = [...records.values()].filter((record) => record.held === true || isLeftStopped(record));
  for (const { id } of toThaw) await (await driver.adopt(id))?.thaw();
  return driver;
}
