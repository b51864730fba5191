import type { Driver } from '../contract/driver.js';
import { probeTools } from '../host/tools.js';
import { lockDataDir } from '../shared/data-dir-lock.js';
import { LinuxHost } from './host/linux-host.js';
import { LinuxDriver } from './linux-driver.js';
import { outwaitOrphanedScripts } from './reap.js';
import type { LinuxDriverOptions } from './state/options.js';

/**
 * Makes the driver of real sandboxes. Needs root on Linux.
 * @throws {DriverError} `unsupported` naming what the host lacks; `busy` while another driver has the data directory.
 */
export async function createLinuxDriver(options: LinuxDriverOptions): Promise<Driver> {
  const tools = await probeTools(options);
  const lock = await lockDataDir(options.dataDir);
  try {
    const host = new LinuxHost(options, tools);
    await outwaitOrphanedScripts(host.paths);
    await host.up();
    return new LinuxDriver(host, tools, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}
