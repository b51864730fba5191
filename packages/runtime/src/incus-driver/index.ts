export { createIncusDriver } from './create-incus-driver.js';
export type { IncusDriverOptions } from './options.js';
