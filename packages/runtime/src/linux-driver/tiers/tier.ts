import type { Isolation } from '../../contract/capabilities.js';
import type { Images } from '../criu/images-for.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { InstanceEntry } from '../state/records.js';

/** Where the file system of a new instance comes from. */
export type Origin =
  | { kind: 'fresh' }
  /**
   * A checkpoint's file system, booted afresh or with its memory; `images`: where the keeper's namespace has those; `renumber`:
   * its files get numbers that no layer's have; `trial`: memory is restored to see that it can be, and nothing of it runs.
   */
  | {
      kind: 'checkpoint';
      checkpointId: string;
      memory: boolean;
      images: string;
      renumber: boolean;
      trial?: boolean;
    };

/** The command that starts an instance, its file systems mounted already. */
export interface StartCommand {
  command: string[];
  /** OCI runtime to try with the same words when the command's own fails. */
  fallback?: string;
  /** Limits of a cgroup that the driver makes, and that the command has to run in. Absent: the runtime makes its own. */
  cgroup?: OciConfig['linux']['resources'];
  /** Images of memory that the command reads. */
  images?: Images;
  /** True if the limits of one user are to be set once it runs, because the kernel counts them along user namespaces. */
  limitsUsers?: boolean;
  /** True if the network namespace exists before the command and has the instance's name. Else the command makes it. */
  networkFirst?: boolean;
}

/** Gives one name to a machine, later. */
export interface NameWriter {
  /** True if a program inside writes it: the machine then has to continue before {@link write} settles. */
  readonly inside: boolean;
  /** Settles when the machine has the name. @throws {DriverError} `create_failed` */
  write(name: string): Promise<void>;
  /** Releases it without a name; settles when it has exited. */
  end(): Promise<void>;
}

export interface StoreMemoryOptions {
  /** Directory in the store: a copy of the file system goes to its `sv`. */
  draft: string;
  /** Directory of the keeper's namespace for memory of the same moment. */
  images: string;
  /** Called when the instance is about to be frozen. */
  onQuiesced(): void;
}

/**
 * An isolation of instances from the host's kernel. Images, layers, volumes, network and limits are the same in each;
 * what differs stands here.
 */
export interface OciTier {
  readonly isolation: Isolation;
  /** Instances can have a range of host ids each. */
  readonly ownIds: boolean;
  /** Why there can be no instances of this tier on this host; undefined: there can. One sentence. */
  readonly problem: string | undefined;
  /** Why memory cannot be stored; undefined: it can, as far as the host's programs show until it is tried. One sentence. */
  memoryProblem: string | undefined;
  /** The `config.json` of the runtime. */
  bundle(entry: InstanceEntry, config: OciConfig): object;
  start(entry: InstanceEntry, origin: Origin, config: OciConfig): StartCommand;
  /** @throws {DriverError} `undumpable` for what is known before a try. */
  requireStorable(entry: InstanceEntry): Promise<void>;
  /**
   * Stores memory and file system of one moment. The instance is frozen afterwards, until {@link letGo}; one that was
   * frozen is frozen again.
   * @throws {DriverError} `undumpable`, `timeout`, `storage_full`
   */
  storeMemory(keeper: NamespaceKeeper, entry: InstanceEntry, options: StoreMemoryOptions): Promise<void>;
  /** Resumes an instance that is frozen for a checkpoint, also for one that was aborted. Repeating it is fine. */
  letGo(entry: InstanceEntry): Promise<void>;
  /** Makes ready what names an instance that waits in the pool. It runs. */
  nameWriter(entry: InstanceEntry): Promise<NameWriter>;
  /** Gives an instance that was restored with its memory a name of its own. */
  nameRestored(entry: InstanceEntry, name: string): Promise<void>;
}
