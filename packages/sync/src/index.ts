// `@svc/sdk/sync`: two directories kept equal. Apart from the rest: it needs the files of a machine.

export { DirectorySync, type SyncStatus } from './directory-sync.js';
export { SyncStoppedError, type SyncStopReason } from './errors.js';
export type { SyncEvent } from './events.js';
export type { SyncOptions } from './options.js';
export type { Preference, SyncMode } from './plan/input.js';
export type { SyncSandbox } from './remote/remote-shell.js';
export { syncDirectory } from './sync-directory.js';
