export { ArchiveError, type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from './archive/archive-limits.js';
export { meterExpansion } from './archive/meter-expansion.js';
export { type GuardOptions, guardTar } from './archive/tar-guard.js';
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
  DriverOptions,
  ForwardedTraffic,
  LostDriver,
  RefusedPackets,
  RestoreOptions,
  SentBytes,
} from './contract/driver.js';
export { DriverError } from './contract/errors.js';
export type {
  CheckpointOptions,
  Instance,
  InstanceEnd,
  InstanceMount,
  InstanceNetwork,
  InstanceRecord,
  InstanceSpec,
  InstanceStats,
} from './contract/instance.js';
export {
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
export { memoryMisfit } from './transfer/memory-fit.js';
export { requireObject } from './transfer/object-id.js';
