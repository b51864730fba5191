import type { Duplex } from 'node:stream';
import type { Isolation, IsolationLevel } from './capabilities.js';

/** Limits of one instance. An absent one is not limited. */
export interface InstanceLimits {
  /** CPU cores, >= 0.1. */
  cpuCount?: number;
  /** MiB, >= 64. */
  memoryMiB?: number;
  /** MiB that may be written on top of the layers. */
  diskMiB?: number;
  /** Processes and threads at once. */
  pids?: number;
}

/** A directory that appears inside the instance. */
export type InstanceMount = {
  /** Absolute path inside; created when missing. */
  target: string;
  readOnly?: boolean;
} & (
  | { volumeId: string; source?: undefined }
  /** Absolute path on the driver's host; must exist. Only for a caller with the driver in its own process. */
  | { source: string; volumeId?: undefined }
);

export interface InstanceNetwork {
  /**
   * `internet`: everything but the host's own services, private ranges and metadata addresses. `none`: nothing, and no
   * names are resolved. `governed`: TCP through the egress process and names from it, both by its policy for the address
   * of the instance; nothing else. Where there is no such process, or no policy yet, that is nothing. Needs the capability
   * `egressPolicy`.
   */
  egress: 'internet' | 'none' | 'governed';
}

/** Connections of an instance with a network policy that the network forwards without the egress process. */
export interface ForwardedDestinations {
  /** IPv4, ascending and disjoint, at most 256. What no instance may reach is never forwarded. */
  ranges: { first: string; last: string }[];
  /** Destination ports that are never forwarded. */
  exceptPorts: number[];
}

/** The specification that an instance is made from. */
export interface InstanceSpec {
  /** Layers from the lowest up, ids from {@link Layers}. Empty: the driver's base. */
  layers: string[];
  limits: InstanceLimits;
  /** The isolation level from the host's kernel. Absent: the one that the driver was opened with. A driver without tiers refuses any. */
  isolation?: Isolation;
  network: InstanceNetwork;
  mounts: InstanceMount[];
  /** Free text kept with the instance and given back by `list`; the server finds its own by it. At most 4 KiB. */
  labels: Record<string, string>;
}

/** The facts about an instance that are known without talking to it. */
export interface InstanceRecord {
  id: string;
  state: 'running' | 'frozen' | 'dead';
  labels: Record<string, string>;
  /** When it was made, ms since the epoch. */
  createdAtMs: number;
}

/** One reading of what an instance uses. Bytes unless said otherwise. */
export interface InstanceStats {
  /** CPU time used since the start, microseconds. */
  cpuUsageUs: number;
  cpuCount: number;
  memoryBytes: number;
  memoryLimitBytes: number;
  memoryCacheBytes: number;
  diskUsedBytes: number;
  diskLimitBytes: number;
  pids: number;
}

export interface CheckpointOptions {
  /** Name of the checkpoint, chosen by the caller: `[a-z0-9-]{1,64}`, unique in the driver. */
  checkpointId: string;
  /** Store memory too, so that programs continue after a restore. False: only the file system. */
  memory: boolean;
  /** `continue`: the instance runs on, briefly frozen. `destroy`: it ends once the checkpoint is durable. */
  then: 'continue' | 'destroy';
  /**
   * It is restored at once and then deleted, and need not outlive the driver: where there is room, a driver may keep it in the
   * host's memory. Default false.
   */
  brief?: boolean;
  signal?: AbortSignal;
}

export interface Checkpoint {
  id: string;
  memory: boolean;
  /** Bytes on disk, memory image and file system together; what is shared copy-on-write counts once. */
  sizeBytes: number;
  /** The time for which the instance was frozen, ms. */
  frozenMs: number;
}

/** The way in which a process other than the driver's connects to the ports of an instance. */
export interface InstanceReach {
  /** Where the daemon listens. */
  daemon: { host: string; port: number };
  /** Addresses to try for other ports, in this order. */
  hosts: string[];
  /** True if ports on the loopback inside are reached through the daemon. */
  tunnel: boolean;
}

/**
 * One running (or frozen) isolated place with the daemon in it.
 *
 * Every method may be called by several callers at once; those that change state run one after another.
 */
export interface Instance {
  readonly id: string;
  readonly labels: Record<string, string>;
  /** Undefined: only {@link dial} of the driver's own process gets there. */
  readonly reach?: InstanceReach | undefined;
  /**
   * Source address of its connections as the egress process sees it, IPv4. Fixed for the life of this instance; a restore
   * or fork has another. An address is used again some time after its instance ended. Undefined: nobody sees one.
   */
  readonly address?: string | undefined;
  /** The isolation level from its host. Undefined: the driver does not report it. */
  readonly isolation?: IsolationLevel | undefined;
  /**
   * Changes what the running (or frozen) instance reaches, kept until the next change also by a driver that adopts it.
   * Settles once the new mode is in force: new connections follow it, and those that the mode does not carry are dead.
   * From and to `governed` that is every one, as they take another way; connections to ports inside stay.
   * @throws {DriverError} `unsupported` without the capability that the mode needs; `instance_gone`.
   */
  setNetwork(network: InstanceNetwork): Promise<void>;
  /**
   * Lets the network forward some connections while the instance has a network policy, in place of the former ones:
   * connections that begin from now on. Open ones that it forwarded and may no longer are ended; those that the egress process
   * has stay there. An instance begins with none. What a driver forwarded that was closed stalls until this is called
   * again. Undefined: all go through the egress process.
   * @throws {DriverError} `instance_gone`; `unsupported` when the kernel cannot: nothing is forwarded then.
   */
  setForwarded?(destinations: ForwardedDestinations): Promise<void>;
  /**
   * Opens a TCP connection to a port inside, listeners on loopback included. Port 49983 is always the daemon,
   * wherever it really listens.
   * @throws {DriverError} `port_closed` when nothing listens; `instance_gone` when the instance ended.
   */
  dial(port: number, options?: { signal?: AbortSignal }): Promise<Duplex>;
  /** Stops every process where it stands. Memory stays in RAM. A second call does nothing. */
  freeze(): Promise<void>;
  /** Resumes a frozen instance. On a running one does nothing. */
  thaw(): Promise<void>;
  stats(): Promise<InstanceStats>;
  /**
   * Stores the instance's file system, and its memory when asked.
   * @throws {DriverError} `unsupported` without the capability; `undumpable` with what could not be stored (the instance
   * runs on); `busy`, `storage_full`, `instance_gone`.
   */
  checkpoint(options: CheckpointOptions): Promise<Checkpoint>;
  /** Stores what was written on top of the layers as one more layer and gives its id. The instance continues. */
  commitLayer(): Promise<LayerInfo>;
  /** Ends every process and frees everything. Repeating it is fine. */
  destroy(): Promise<void>;
  /** Settles when the instance's first process ended for any reason. Never rejects. */
  readonly ended: Promise<InstanceEnd>;
}

export interface InstanceEnd {
  /** `destroyed` by a call, `exited` by itself, `oom` by the memory limit. */
  reason: 'destroyed' | 'exited' | 'oom';
}

export interface LayerInfo {
  id: string;
  /** Bytes on disk. */
  sizeBytes: number;
}
