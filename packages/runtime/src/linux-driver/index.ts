export { createLinuxDriver } from './create-linux-driver.js';
export { IDS as IDS_PER_INSTANCE } from './ids/id-ranges.js';
export type { IdPool, LinuxDriverOptions, NetworkOptions } from './state/options.js';
