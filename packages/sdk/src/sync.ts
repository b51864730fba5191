// `@svc/sdk/sync`: two directories kept equal. Apart from the rest: it needs the files of a machine.

export { DirectorySync, type SyncStatus } from './sync/directory-sync.js';
export { SyncStoppedError, type SyncStopReason } from './sync/errors.js';
export type { SyncEvent } from './sync/events.js';
export type { SyncOptions } from './sync/options.js';
export type { Preference, SyncMode } from './sync/plan/input.js';
export type { SyncSandbox } from './sync/remote/remote-shell.js';
export { syncDirectory } from './sync/sync-directory.js';
