/**
 * What keeps an instance apart from its host. `container`: namespaces, a cgroup and a root of its own, on the host's kernel.
 * `gvisor`: all that, and a kernel of its own that runs as a program without rights.
 */
export type Isolation = (typeof isolations)[number];
export const isolations = ['container', 'gvisor'] as const;

/** `none`: a plain process of the host. `vm`: a kernel of its own on virtual hardware. */
export type Apartness = (typeof apartnesses)[number];
export const apartnesses = ['none', ...isolations, 'vm'] as const;

/** What a driver can do on this host. The server turns what is missing into the documented error. */
export interface Capabilities {
  /** Of instances whose specification names none. */
  isolation: Apartness;
  /** Whether CPU, memory and process-count limits are enforced. */
  limits: boolean;
  /** Whether `limits.diskMiB` is enforced. */
  diskLimit: boolean;
  /** Whether memory can be stored in a checkpoint and restored from it, any number of times. */
  memorySnapshot: boolean;
  /** Whether host directories can be mounted into an instance. */
  mounts: boolean;
  /** Whether `network.egress: 'none'` is enforced, and the host and private ranges are out of reach. */
  networkIsolation: boolean;
  /** Whether `network.egress: 'governed'` works: traffic goes through the egress process, which decides by policy. */
  egressPolicy: boolean;
  /** Whether layers hold a whole root file system (`rootfs`) or only the instance's home directory (`home`). */
  layers: 'rootfs' | 'home';
  /** Whether several operating-system users exist inside an instance. */
  users: boolean;
  /** Why something above is false: sentences for the operator, shown at start and by the doctor. */
  reasons: string[];
}
