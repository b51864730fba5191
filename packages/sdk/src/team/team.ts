/** The team that an API key belongs to. */
export interface Team {
  readonly teamId: string;
  readonly name: string;
  /** Namespace of the team's templates. */
  readonly slug: string;
  readonly createdAt: Date;
  readonly limits: {
    /** Longest run of one sandbox, ms. */
    readonly maxTimeoutMs: number;
    readonly maxConcurrentSandboxes: number;
    readonly maxConcurrentBuilds: number;
    readonly maxCpuCount: number;
    readonly maxMemoryMiB: number;
    /** Most memory of all sandboxes that run at once. Undefined: no limit. */
    readonly maxTotalMemoryMiB?: number | undefined;
    /** Most of the disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
    readonly maxStorageMiB?: number | undefined;
    /** Most that one volume holds. */
    readonly maxVolumeMiB?: number | undefined;
    /** Most that all sandboxes send to the outside in a month of the calendar, UTC. Undefined: no limit. */
    readonly maxEgressMonthMiB?: number | undefined;
    readonly maxSecrets: number;
    readonly maxWebhooks: number;
  };
  readonly features: {
    /** True when `network.egressProxy` may be used. */
    readonly egressProxy: boolean;
  };
}
