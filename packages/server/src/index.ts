export { environmentVariables, type LoadConfigOptions, loadConfig } from './config/load.js';
export type { LogLevel, ServerOptions, Tuning } from './config/options.js';
export type { ServerStatus } from './operator/status.js';
export type { Server, StopOptions } from './start/server.js';
export { startServer } from './start/start-server.js';
export { DirectoryLockedError } from './storage/directory-lock.js';
export { StorageError, type StorageOptions } from './storage/open.js';
export type { TeamLimits } from './teams/team.js';
