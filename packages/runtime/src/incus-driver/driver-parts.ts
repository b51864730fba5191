import type { DataDirLock } from '../shared/data-dir-lock.js';
import type { Addresses } from './addresses.js';
import type { CheckpointRecords, IncusCheckpoint } from './checkpoint-records.js';
import type { Images } from './image/images.js';
import type { LayerFiles } from './image/layer-files.js';
import type { IncusCluster } from './incus-cluster.js';
import type { IncusDriverOptions } from './options.js';
import type { DialAddress } from './reach.js';
import type { CustomVolumes } from './volumes/custom-volumes.js';
import type { MemberClients } from './volumes/member-clients.js';

/** The parts that the driver is put together from. */
export interface IncusDriverParts {
  options: IncusDriverOptions;
  lock: DataDirLock;
  cluster: IncusCluster;
  images: Images;
  files: LayerFiles;
  addresses: Addresses;
  dial: DialAddress;
  owner: string;
  /** Equal for all drivers on this project of this cluster. */
  clusterId: string;
  pool: string;
  parent: string;
  /** The operator says that every member has the fence. */
  fenced: boolean;
  /** The storage pool has quotas. */
  diskLimit: boolean;
  /** Command line of the first process of an instance. */
  command: readonly string[];
  /** A card that was plugged in can be set up inside. */
  setsUpCards: boolean;
  /** Sets the host name inside. */
  renameCommand(name: string): readonly string[];
  summary: string;
  /** Volumes of an earlier version, and all where the storage pool cannot have them. */
  volumesDirectory: string;
  customVolumes: CustomVolumes;
  memberClients: MemberClients;
  /** Why volumes are not kept in the storage pool. Undefined: they are. */
  mountProblem: string | undefined;
  records: CheckpointRecords;
  recorded: readonly IncusCheckpoint[];
}
