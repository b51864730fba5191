export { createLinuxDriver } from './create-linux-driver.js';
export { type InstallCriuOptions, type InstalledCriu, installPrivateCriu } from './criu/install-criu.js';
export type { NetworkOptions } from './network.js';
export type { LinuxDriverOptions } from './options.js';
export { criuDirectory, missingForLinux } from './probe.js';
