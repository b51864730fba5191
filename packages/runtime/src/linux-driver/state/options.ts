import type { BaseRoot, Isolation } from '../../contract/capabilities.js';
import type { DriverOptions } from '../../contract/driver.js';

export interface NetworkOptions {
  /** Private range that the driver takes a /20 block out of (1023 sandboxes). Default `10.200.0.0/13`. */
  pool?: string;
  /** Connections that one sandbox may have open or half-closed at once, datagram exchanges included. Default 4096. */
  maxConnections?: number;
  /**
   * Private ranges that sandboxes may reach all the same, CIDR, IPv4: a mirror of packages, say. Never their own block, and
   * never the host. Default none.
   */
  allowRanges?: readonly string[];
  /** Name servers inside sandboxes. Default: those of the host that are public, else 1.1.1.1 and 8.8.8.8. */
  nameServers?: string[];
}

/** Host user and group ids that follow each other. */
export interface IdPool {
  /** The first of them: 65,536 or more. */
  first: number;
  /** The number of ids: 65,536 for each sandbox. The last may be 2,147,483,647. */
  count: number;
}

export interface LinuxDriverOptions extends DriverOptions {
  /** The isolation level of new instances from the host's kernel. Default `container`. */
  isolation?: Isolation;
  /** Directory of the private `runsc`, for `gvisor`. Default `SVC_RUNSC_DIR`, else `/var/lib/svc/runsc`. */
  runscDirectory?: string;
  /**
   * OCI runtime: a known name or an absolute path. Default: `runc`, the one whose restores are reliable, with `crun` to start
   * fresh instances where it is installed, because that takes a third of the time.
   */
  ociRuntime?: 'runc' | 'crun' | 'runsc' | 'kata' | (string & {});
  /**
   * The caller of CRIU for a restore: the driver itself, or the OCI runtime, which is slower. Default `driver`, but `runtime` on
   * cgroup v2, where only the runtime can rule over devices.
   */
  restoreBy?: 'driver' | 'runtime';
  /** Size of the store's image in MiB when it is first made. Default 60 % of the free disk, at most 40 GiB; sparse. 0: plain directories. */
  storeSizeMiB?: number;
  /**
   * Root inside may open raw sockets (CAP_NET_RAW). Default false: `ping` works without, as long as its program has
   * no file capabilities, but a program can then forge no packets.
   */
  rawSockets?: boolean;
  network?: NetworkOptions;
  /**
   * Host user and group ids out of which the driver takes a block for its sandboxes: up to 1,024 times 65,536. They must be free
   * of what `/etc/subuid` and `/etc/subgid` give to others. Default 536870912 to 2147483647, without those. False: users inside
   * have the numbers of the host's, and set-uid programs have no effect.
   */
  ids?: IdPool | false;
  /**
   * MiB that sandboxes leave free on the file system of the data directory: for the service's database and for the host.
   * Default 5 % of it, at most 2048.
   */
  reserveMiB?: number;
  /** Memory that all sandboxes together may use, MiB. Default: the host's but a tenth, at least 256 MiB and at most 2 GiB. */
  maxMemoryMiB?: number;
  /**
   * The root file system of instances without layers: `debian`, which `buildBase` makes, or `host`, the host's `/usr`
   * below a small skeleton. Default `SVC_BASE_ROOT`, else `debian`.
   */
  baseRoot?: BaseRoot | undefined;
  /** Directory of the bases. Default `SVC_BASE_DIR`, else `/var/lib/svc/base`. */
  baseDirectory?: string | undefined;
  /** Directory of the private CRIU. Default `SVC_CRIU_DIR`, else `/var/lib/svc/criu`. */
  criuDirectory?: string;
  /**
   * 32 bytes that the drivers of all hosts of one operator share, and nobody without the rights of root: it marks what they stored.
   * Stored memory decides what a program opens and may do when it resumes; a tenant that could make such memory would be root.
   * Without it nothing stored leaves this host, and nothing comes.
   */
  transferKey?: Buffer | undefined;
}
