export { createLinuxDriver } from './create-linux-driver.js';
export type { LinuxDriverOptions, NetworkOptions } from './state/options.js';
