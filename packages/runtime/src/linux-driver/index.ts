export { type InstallCriuOptions, type InstalledCriu, installPrivateCriu } from './criu/install-criu.js';
export { createLinuxDriver } from './linux-driver.js';
export type { NetworkOptions } from './network.js';
export type { LinuxDriverOptions } from './options.js';
export { criuDirectory, missingForLinux } from './probe.js';
