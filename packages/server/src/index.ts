export { DirectoryLockedError } from '#support/directory-lock';
export { BackupError } from './backup/backup-error.js';
export { type BackupOptions, type BackupReport, createBackup } from './backup/create-backup.js';
export {
  type CheckedBackup,
  type CheckOptions,
  checkBackup,
  type RestoreOptions,
  type RestoreReport,
  restoreBackup,
} from './backup/restore-backup.js';
export { type LoadConfigOptions, loadConfig, optionsOfFlags } from './config/load.js';
export type { LogLevel, ServerOptions, StorageOptions, Tuning } from './config/options.js';
export type { TeamLimits } from './limits/team-limits.js';
export type { ServerStatus } from './operator/status.js';
export { dataLayout } from './separate/data-layout.js';
export { type ReceivedOrders, receiveOrders } from './separate/orders.js';
export { planStart, type SeparatePlan, type StartPlan } from './separate/plan-start.js';
export { runAsRoot, type ServerEnd } from './separate/run-as-root.js';
export { DEFAULT_USER, foreseeUser, ServiceUserError } from './separate/service-user.js';
export { type SeparatedServer, startSeparatedServer } from './separate/start-separated.js';
export { hardenProcess } from './start/harden-process.js';
export { installLastResort } from './start/last-resort.js';
export type { Server, StopOptions } from './start/server.js';
export { startServer } from './start/start-server.js';
export { tryFences } from './start/try-fences.js';
export { type TryStartOptions, tryStart } from './start/try-start.js';
export { StorageError } from './storage/open.js';
export { DataDirectoryError } from './storage/private-directory.js';
export { schemaSteps } from './storage/schema-steps.js';
export {
  UninstallError,
  type UninstallOptions,
  type UninstallReport,
  uninstallServer,
} from './uninstall/uninstall.js';
export { copyStoppedDatabase, hasDatabaseCopy, putBackDatabase } from './upgrade/database-copy.js';
export { readStoredServer, type StoredServer } from './upgrade/stored-server.js';
export { UpgradeError } from './upgrade/upgrade-error.js';
