export { DirectoryLockedError } from '#support/directory-lock';
export { type LoadConfigOptions, loadConfig, optionsOfFlags } from './config/load.js';
export type { LogLevel, ServerOptions, StorageOptions, Tuning } from './config/options.js';
export type { TeamLimits } from './config/team-limits.js';
export { BackupError } from './maintenance/backup/backup-error.js';
export { type BackupOptions, type BackupReport, createBackup } from './maintenance/backup/create-backup.js';
export {
  type CheckedBackup,
  type CheckOptions,
  checkBackup,
  type RestoreOptions,
  type RestoreReport,
  restoreBackup,
} from './maintenance/backup/restore-backup.js';
export {
  UninstallError,
  type UninstallOptions,
  type UninstallReport,
  uninstallServer,
} from './maintenance/uninstall.js';
export {
  copyStoppedDatabase,
  hasDatabaseCopy,
  putBackDatabase,
  readStoredServer,
  type StoredServer,
  UpgradeError,
} from './maintenance/upgrade.js';
export type { ServerStatus } from './operator/status.js';
export { installCrashGuard } from './process/crash-guard.js';
export { hardenProcess } from './process/harden-process.js';
export { type ReceivedOrders, receiveOrders } from './process/separate/orders.js';
export { planStart, type SeparatePlan, type StartPlan } from './process/separate/plan-start.js';
export { runAsRoot, type ServerEnd } from './process/separate/run-as-root.js';
export { type SeparatedServer, startSeparatedServer } from './process/separate/start-separated.js';
export type { Server, StopOptions } from './process/server.js';
export { startServer } from './process/start-server.js';
export { type TryStartOptions, tryFences, tryStart } from './process/try-start.js';
export { dataLayout } from './storage/data/data-layout.js';
export { DataDirectoryError } from './storage/data/private-directory.js';
export { DEFAULT_USER, foreseeUser, ServiceUserError } from './storage/data/service-user.js';
export { schemaSteps } from './storage/migrate.js';
export { StorageError } from './storage/open.js';
