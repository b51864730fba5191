export { baseDirectory, baseRecipe, buildBase, findBase } from './host/base-root.js';
export { checkHost } from './host/check-host.js';
export { type Finding, linuxDriverCanRun } from './host/finding.js';
export { fixHost } from './host/fix-host.js';
export type { HostOptions } from './host/host-facts.js';
export { type DriverName, driverNames, selectDriver } from './select-driver.js';
export { reserveBytes } from './shared/disk-reserve.js';
export type { TrialStart } from './trial-start.js';
