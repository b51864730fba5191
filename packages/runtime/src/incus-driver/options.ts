import type { DriverOptions } from '../contract/driver.js';

export interface IncusDriverOptions extends DriverOptions {
  /**
   * Where Incus answers: the path of a unix socket, or `https://host:8443`; of a cluster several members, with commas between,
   * of which the first that answers is asked. Default: the trial cluster of `svc cluster up`, else `/var/lib/incus/unix.socket`.
   */
  address?: string | undefined;
  /** Incus project that belongs to this service. Default `svc`. It is made when it is missing. */
  project?: string | undefined;
  /** PEM files for `https`: the client certificate that Incus trusts, its key, and the certificate of Incus itself. */
  certificateFile?: string | undefined;
  keyFile?: string | undefined;
  serverCertificateFile?: string | undefined;
  /** Storage pool for root file systems. Default: the project's `user.svc.pool`, else the only pool that there is. */
  pool?: string | undefined;
  /** Interface of every member through which sandboxes are reached. Default: the project's `user.svc.parent`. */
  parent?: string | undefined;
  /** Addresses for sandboxes, CIDR, IPv4, which nobody else in the network has. Default: the project's `user.svc.range`. */
  range?: string | undefined;
  /** Socket through which that network is reached where this machine is not in it. Default: the project's `user.svc.gateway`. */
  gateway?: string | undefined;
  /**
   * True if every member has the fence (`fence.nft` in `assets/incus`), which keeps sandboxes from the network. The driver tries it from inside
   * before it relies on it. Default: true if the project's `user.svc.fence` is `true`.
   */
  fence?: boolean | undefined;
  /** Name servers inside sandboxes. Default 1.1.1.1 and 8.8.8.8. */
  nameServers?: readonly string[] | undefined;
  /** Directory of the bases. Default `SVC_BASE_DIR`, else `/var/lib/svc/base`. */
  baseDirectory?: string | undefined;
}

export const DEFAULT_ADDRESS = '/var/lib/incus/unix.socket';
export const DEFAULT_PROJECT = 'svc';
export const DEFAULT_NAME_SERVERS: readonly string[] = ['1.1.1.1', '8.8.8.8'];
/** An Incus that can start an instance in the request that makes it. */
export const NEEDED_EXTENSIONS: readonly string[] = ['instance_create_start'];
