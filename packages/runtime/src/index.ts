export type { Capabilities } from './contract/capabilities.js';
export type {
  CreateOptions,
  DaemonProgram,
  Driver,
  DriverOptions,
  Layers,
  PoolRequest,
  RestoreOptions,
} from './contract/driver.js';
export { DriverError, type DriverErrorCode } from './contract/errors.js';
export type {
  Checkpoint,
  CheckpointOptions,
  Instance,
  InstanceEnd,
  InstanceLimits,
  InstanceMount,
  InstanceNetwork,
  InstanceRecord,
  InstanceSpec,
  InstanceStats,
  LayerInfo,
} from './contract/instance.js';
export { createProcessDriver } from './process-driver/index.js';
