/** One sandbox, as far as reaching its daemon goes. */
export interface DaemonTarget {
  readonly sandboxId: string;
  readonly templateId?: string | undefined;
  /** Version of the daemon, for what it can do. */
  readonly envdVersion: string;
  /** The sandbox's own token. */
  readonly accessToken?: string | undefined;
  /** Opens ports that are not public. */
  readonly trafficToken?: string | undefined;
  /** Domain that the sandbox reported. */
  readonly domain?: string | undefined;
}
