/**
 * The isolation level between an instance and its host. `container`: namespaces, a cgroup and a root of its own, on the host's kernel.
 * `gvisor`: all that, and a kernel of its own that runs as a program without rights.
 */
export type Isolation = (typeof isolations)[number];
export const isolations = ['container', 'gvisor'] as const;

/** `none`: a plain process of the host. `vm`: a kernel of its own on virtual hardware. */
export type IsolationLevel = (typeof isolationLevels)[number];
export const isolationLevels = ['none', ...isolations, 'vm'] as const;

/** The abilities of a driver on this host. The server turns a missing one into the documented error. */
export interface Capabilities {
  /** Of instances whose specification names none. */
  isolation: IsolationLevel;
  /** CPU, memory and process-count limits are enforced. */
  limits: boolean;
  /** `limits.diskMiB` is enforced. */
  diskLimit: boolean;
  /** Memory can be stored in a checkpoint and restored from it, any number of times. */
  memorySnapshot: boolean;
  /** Host directories can be mounted into an instance. */
  mounts: boolean;
  /** `network.egress: 'none'` is enforced, and the host and private ranges are out of reach. */
  networkIsolation: boolean;
  /** `network.egress: 'governed'` works: traffic goes through the egress process, which decides by policy. */
  egressPolicy: boolean;
  /** The content of layers: a whole root file system (`rootfs`) or only the instance's home directory (`home`). */
  layers: 'rootfs' | 'home';
  /** Several operating-system users exist inside an instance. */
  users: boolean;
  /** Why something above is false: sentences for the operator, shown at start and by the doctor. */
  reasons: string[];
}

/** The root file systems for instances without layers of their own: a Debian that is built once, or the host's `/usr`. */
export const baseRoots = ['debian', 'host'] as const;
export type BaseRoot = (typeof baseRoots)[number];
