import type { Duplex, Readable } from 'node:stream';
import type { ArchiveLimits } from '../archive/archive-limits.js';
import type { Capabilities } from './capabilities.js';
import type { Instance, InstanceRecord, InstanceSpec, LayerInfo } from './instance.js';
import type { Transfers } from './transfers.js';
import type { Volumes } from './volumes.js';

export interface CreateOptions {
  /** Chosen by the caller: `[a-z0-9]{1,32}`, unique among living instances. It is also the host name inside. */
  id: string;
  spec: InstanceSpec;
  /** Aborting undoes what was made so far. */
  signal?: AbortSignal;
}

export interface RestoreOptions extends CreateOptions {
  /** Layers in `spec` are ignored: the checkpoint has its own. */
  checkpointId: string;
  /** True: programs continue from memory. False: boot afresh on the stored file system. */
  memory: boolean;
}

export interface ImportOptions {
  /** Default {@link DEFAULT_ARCHIVE_LIMITS}, each. */
  limits?: Partial<ArchiveLimits>;
  /** Aborting undoes what was unpacked so far. */
  signal?: AbortSignal;
}

/** Layers of file systems, stored by the driver. */
export interface Layers {
  /**
   * Makes a layer of a plain tar stream (a whole root file system, or files to put on top). Device nodes and pipes are left
   * out; nothing in the archive reaches anything outside of the layer.
   * @throws {DriverError} `invalid_archive`, also for what goes beyond the limits; `storage_full`.
   */
  importTar(tar: Readable, options?: ImportOptions): Promise<LayerInfo>;
  list(): Promise<LayerInfo[]>;
  /** @throws {DriverError} `busy` while an instance or checkpoint stands on it. */
  delete(id: string): Promise<void>;
}

/** The use of the driver's storage. Bytes. */
export interface StorageUse {
  storeFreeBytes: number;
  storeUsedBytes: number;
  storeTotalBytes: number;
  /** On the file system of the data directory. */
  hostFreeBytes: number;
  /** The space that the driver leaves free there. */
  reserveBytes: number;
}

/** Packets of an instance that its network refused for one reason, since the instance began. */
export interface RefusedPackets {
  instanceId: string;
  /** Such as `not TCP`. */
  reason: string;
  packets: number;
}

/** Packets of recent connections to one destination that the network forwarded for an instance with a network policy. */
export interface ForwardedTraffic {
  instanceId: string;
  /** Undefined: the sum of all destinations, because there are many. Connections are not counted then. */
  address?: string | undefined;
  /** 0 without an address. */
  port: number;
  connections: number;
  /** With their headers. */
  bytesSent: number;
  bytesReceived: number;
}

/** The bytes that an instance sent to the outside without the egress process, since counting began. */
export interface SentBytes {
  instanceId: string;
  /** With headers of packets. Answers to the host, such as those of the daemon, are not among them. */
  bytes: number;
}

/** The process that carries the traffic of instances with a network policy, see `InstanceNetwork`. */
export interface DriverEgress {
  /**
   * Opens a connection to its control socket. It closes when that process ends, which the driver then starts again: the caller that
   * needs it connects again and gives it every policy again, for it keeps none.
   * @throws {DriverError} `unreachable` while it is starting (try again), `closed`.
   */
  connect(options?: { signal?: AbortSignal }): Promise<Duplex>;
}

/** A kind of instance to keep ready. */
export interface PoolRequest {
  /** Layers, limits and mounts decide what fits; labels do not, nor does the network where a driver can change it. */
  spec: InstanceSpec;
  /** The number of instances to keep booted and frozen, >= 0. */
  size: number;
}

/** The bounds within which the pool may grow beyond the requested sizes. */
export interface PoolGrowth {
  /** The most memory that all pooled instances may use together, MiB, as measured. */
  memoryMiB: number;
}

/** The state of the pool. */
export interface PoolState {
  /** Instances that wait. */
  waiting: number;
  /** The desired number of pooled instances. */
  wanted: number;
  /** The memory that pooled instances use, as measured; 0 where nothing measures it. */
  memoryBytes: number;
  /** Requests that found one that fits, and that found none, since the driver was opened. */
  hits: number;
  misses: number;
}

/**
 * The part of a driver whose instances run on a cluster that other servers reach with drivers of their own. One driver leases
 * an instance at a time; the servers decide which one: {@link Driver.adopt} takes it from the former one.
 */
export interface SharedInstances {
  /** Names the cluster, and what of it belongs to the service: equal for all drivers that reach the same instances. */
  readonly clusterId: string;
  /** Names this driver among those on the cluster, however often it is opened. */
  readonly holder: string;
  /**
   * Returns true for an instance that exists and has not ended, a checkpoint that exists, and a volume that every driver can work
   * on and mount, whichever driver made them.
   * @throws {DriverError} `unreachable` while that is not known.
   */
  hasInstance(id: string): Promise<boolean>;
  hasCheckpoint(id: string): Promise<boolean>;
  hasVolume(id: string): Promise<boolean>;
  /** Returns true if any driver of the cluster can make instances on these layers, also when the driver that made the layers is unreachable. */
  hasLayers(ids: readonly string[]): Promise<boolean>;
  /**
   * Removes what another driver made and gave to nobody, such as its pool, volumes that it had still to delete, and images of layers
   * that nothing uses. Its other volumes and images become this one's. Of instances that somebody has, nothing.
   * @returns names of what was removed, for the log
   */
  removeOrphans(lost: LostDriver): Promise<string[]>;
  /** Releases an instance that another driver has adopted: it continues to run. Does nothing for one that is not leased. */
  release(id: string): Promise<void>;
}

/** A driver on the same cluster whose server is lost. */
export interface LostDriver {
  holder: string;
  /** Returns true if it still is: asked again before each removal. */
  isLost(): Promise<boolean>;
  /** Ids of layers that something stands on, or may start from. */
  usedLayers(): Promise<ReadonlySet<string>>;
  /** Ids of volumes that a team has. */
  usedVolumes(): Promise<ReadonlySet<string>>;
}

/**
 * Makes, finds and ends instances.
 *
 * A driver owns its data directory and everything it labelled on the host. The server and its instances need not share
 * a host: all contact goes through {@link Instance.dial}.
 */
export interface Driver {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** One line for the operator: which tools are used, what is missing. */
  readonly summary: string;
  /**
   * Makes an instance whose daemon answers `GET /health`. From the pool when one fits, else by booting one.
   * @throws {DriverError} `no_capacity`, `invalid_spec`, `create_failed`.
   */
  create(options: CreateOptions): Promise<Instance>;
  /** Makes an instance of a checkpoint. The same checkpoint may be restored any number of times, side by side. */
  restore(options: RestoreOptions): Promise<Instance>;
  /** Living (or dead, not yet destroyed) instances of this driver's data directory, pooled ones not among them. */
  list(): Promise<InstanceRecord[]>;
  /**
   * Takes hold of an instance that an earlier process of the server made; of a `shared` driver, or another server. Undefined:
   * there is none, or it is dead.
   */
  adopt(id: string): Promise<Instance | undefined>;
  /** Removes everything of this data directory that no living instance, checkpoint or layer owns. Returns the names. */
  reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]>;
  listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]>;
  /** Repeating it is fine. */
  deleteCheckpoint(checkpointId: string): Promise<void>;
  readonly layers: Layers;
  readonly volumes: Volumes;
  /** Undefined: no other driver reaches the instances of this one. */
  readonly shared?: SharedInstances | undefined;
  /** Undefined without the capability `egressPolicy`. */
  readonly egress?: DriverEgress | undefined;
  /** Undefined: what the driver stores cannot leave its host. */
  readonly transfers?: Transfers | undefined;
  /** Undefined where the driver has no storage of its own. */
  storage?(): Promise<StorageUse>;
  /** The reasons why it cannot keep its guarantees to running instances, a sentence each, for the operator to repair. Undefined: unknown. */
  problems?(): string[];
  /**
   * The packets of running instances that the network refused, beside those that the egress process denied. Counts begin anew when an instance
   * or the network is made again. Undefined where nothing is counted.
   */
  refusedPackets?(): Promise<RefusedPackets[]>;
  /**
   * The traffic that {@link Instance.setForwarded} forwarded. Counts of a destination begin anew when nothing was sent there for long.
   * Undefined where nothing is counted.
   */
  forwardedTraffic?(): Promise<ForwardedTraffic[]>;
  /**
   * The bytes that instances sent to the outside, except through the egress process; of those that ended since the last call too,
   * once. Counts begin anew when the driver, an instance or the network is made again. Undefined where nothing is counted.
   */
  sentBytes?(): Promise<SentBytes[]>;
  /**
   * Replaces the desired sizes of the warm pool, which fills in the background.
   * @param growth lets the pool follow demand: of each kind, also of one that was not requested, it keeps as many as would
   * have sufficed lately, as far as that memory goes and the host has it. Absent: the sizes are kept as they are. A driver whose
   * pool cannot grow ignores it.
   */
  setPool(requests: PoolRequest[], growth?: PoolGrowth): void;
  /** Settles once the pool is as full as wished (or cannot be). */
  poolReady(): Promise<void>;
  poolState(): Promise<PoolState>;
  /** Stops the pool and releases everything; instances continue to run and can be adopted. */
  close(options?: { destroyInstances?: boolean }): Promise<void>;
}

/** The start of the daemon inside an instance. */
export interface DaemonProgram {
  /** Absolute path of the daemon: one program that needs no library. */
  entry: string;
}

/**
 * The program of the egress process. It runs without any right, in a file system with nothing in it but Node and this
 * file, and gets listening sockets that it could not open itself, as words of its command line:
 *
 * - `--listen fd:3`: TCP, all connections of instances with a network policy. Remote address: the instance; local address and port:
 *   where it meant to go.
 * - `--dns-udp fd:4`, `--dns-tcp fd:5`: the name server of all instances.
 * - `--control fd:6`: its control socket. Only root and who uses the driver gets there.
 * - `--allow-range CIDR`, any number: private ranges that are allowed all the same.
 *
 * Its output goes to the driver's log, line by line. Its standard input ends with the driver; it is ended by SIGKILL.
 */
export interface EgressProgram {
  /** Absolute path of the bundled program (one CommonJS file). */
  entry: string;
}

export interface DriverOptions {
  /** Absolute path; created with mode 0700. One driver at a time. */
  dataDir: string;
  daemon: DaemonProgram;
  /** Absent: instances cannot have a network policy, and resolve names without the process. */
  egress?: EgressProgram | undefined;
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number;
  /** One line for the operator's log. Never holds secrets. */
  log?: (
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields?: Record<string, unknown>,
  ) => void;
}
