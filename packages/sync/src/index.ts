// Two directories kept equal: one of this machine, and one of a sandbox.

export { DirectorySync, type SyncStatus } from './directory-sync.js';
export { SyncStoppedError, type SyncStopReason } from './errors.js';
export type { SyncEvent } from './events.js';
export type { SyncOptions } from './options.js';
export type { Preference, SyncMode } from './plan/input.js';
export type { SyncSandbox } from './remote/remote-shell.js';
export { syncDirectory } from './sync-directory.js';
