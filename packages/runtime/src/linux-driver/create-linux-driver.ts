import { baseRecipe } from '../host/base-root.js';
import { type HostFacts, readHostFacts } from '../host/host-facts.js';
import { chooseTools } from '../host/tools.js';
import { lockDataDir } from '../shared/data-dir-lock.js';
import { LinuxHost } from './host/linux-host.js';
import { LinuxDriver } from './linux-driver.js';
import { outwaitOrphanedScripts } from './reap.js';
import type { LinuxDriverOptions } from './state/options.js';

/**
 * Makes the driver of real sandboxes. Needs root on Linux.
 * @param facts of the host; looked at when absent.
 * @throws {DriverError} `unsupported` naming the missing parts of the host; `busy` while another driver has the data directory.
 */
export async function createLinuxDriver(
  options: LinuxDriverOptions,
  facts?: HostFacts,
): Promise<LinuxDriver> {
  const tools = await chooseTools(facts ?? (await readHostFacts(options)), {
    named: options.ociRuntime !== undefined,
  });
  const lock = await lockDataDir(options.dataDir);
  try {
    const host = new LinuxHost(options, { ...tools, baseRecipe: await baseRecipe() });
    await outwaitOrphanedScripts(host.paths);
    await host.up();
    return new LinuxDriver(host, tools, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}
