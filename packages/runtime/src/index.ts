export {
  ArchiveError,
  type ArchiveLimits,
  DEFAULT_ARCHIVE_LIMITS,
} from './archive/archive-limits.js';
export { meterExpansion } from './archive/meter-expansion.js';
export { type GuardOptions, guardTar } from './archive/tar-guard.js';
export { driverIsUp } from './backup/open-store.js';
export { openStoreBackup, type StoreBackup, type StoreBackupOptions } from './backup/store-backup.js';
export { entryKinds, isStoreEntry, type StoreEntry, type StoreEntryKind } from './backup/store-entry.js';
export {
  openStoreRestore,
  type StoreRestore,
  type StoreRestoreOptions,
  unpackTree,
} from './backup/store-restore.js';
export {
  type BaseRoot,
  baseRoots,
  type Capabilities,
  type Isolation,
  type IsolationLevel,
  isolations,
} from './contract/capabilities.js';
export type {
  CreateOptions,
  DaemonProgram,
  Driver,
  DriverEgress,
  DriverOptions,
  EgressProgram,
  ForwardedTraffic,
  ImportOptions,
  Layers,
  LostDriver,
  PoolGrowth,
  PoolRequest,
  PoolState,
  RefusedPackets,
  RestoreOptions,
  SentBytes,
  StorageUse,
} from './contract/driver.js';
export { DriverError, type DriverErrorCode } from './contract/errors.js';
export type {
  Checkpoint,
  CheckpointOptions,
  ForwardedDestinations,
  Instance,
  InstanceEnd,
  InstanceLimits,
  InstanceMount,
  InstanceNetwork,
  InstanceReach,
  InstanceRecord,
  InstanceSpec,
  InstanceStats,
  LayerInfo,
} from './contract/instance.js';
export {
  type ExportOptions,
  type ImportObjectOptions,
  type Machine,
  type ObjectDescription,
  type ObjectKind,
  objectKinds,
  type StoredObject,
  type Transfers,
} from './contract/transfers.js';
export {
  type VolumeContent,
  type VolumeCreateOptions,
  type VolumeEntry,
  VolumeError,
  type VolumeErrorCode,
  type VolumeOwnership,
  type Volumes,
} from './contract/volumes.js';
export { checkIncus, checkIncusFences } from './find-incus.js';
export { type BuiltBase, baseDirectory, baseRecipe, buildBase, findBase } from './host/base-root.js';
export { checkHost } from './host/check-host.js';
export { type Finding, linuxDriverCanRun } from './host/finding.js';
export { type FixHostOptions, fixHost } from './host/fix-host.js';
export type { HostOptions } from './host/host-facts.js';
export { createIncusDriver, type IncusDriverOptions } from './incus-driver/index.js';
export { removeInTree, removeTree } from './jail/remove-tree.js';
export {
  createLinuxDriver,
  IDS_PER_INSTANCE,
  type IdPool,
  type LinuxDriverOptions,
  type NetworkOptions,
} from './linux-driver/index.js';
export { createProcessDriver } from './process-driver/index.js';
export { type ConnectDriverOptions, connectDriver, type RemoteDriver } from './remote/connect-driver.js';
export { DriverLog } from './remote/driver-log.js';
export { type ServeDriverOptions, type ServedDriver, serveDriver } from './remote/serve-driver.js';
export {
  type DriverName,
  driverNames,
  type SelectDriverOptions,
  type SelectedDriver,
  selectDriver,
} from './select-driver.js';
export { reserveBytes } from './shared/disk-reserve.js';
export { memoryMisfit } from './transfer/memory-fit.js';
export { requireObject } from './transfer/object-id.js';
export {
  type ClusterStatus,
  type ClusterStatusOptions,
  clusterStatus,
  findTrialCluster,
  incusRoot,
  type JoinClusterOptions,
  type JoinedCluster,
  joinCluster,
  startTrialCluster,
  stopTrialCluster,
  type TrialOptions,
  type TrialStartOptions,
} from './trial-cluster/index.js';
export type { TrialStart } from './trial-start.js';
export {
  otherUsersOfBases,
  type RemovedDriver,
  removeDriverData,
  takeDownDriver,
} from './uninstall/remove-driver.js';
