/** The current use of a team, to compare with its limits. */
export interface TeamUse {
  /** Sandboxes that run. */
  readonly sandboxes: number;
  /** The memory that those may use together. */
  readonly memoryMiB: number;
  /** Disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
  readonly storageMiB: number;
  /** Bytes that left its sandboxes in this month of the calendar, UTC. */
  readonly egressMonthMiB: number;
  readonly secrets: number;
  readonly webhooks: number;
}

/** The use of a team in one hour. */
export interface TeamUsageHour {
  /** Its beginning. */
  readonly hour: Date;
  /** Time that sandboxes ran, all added up. */
  readonly sandboxSeconds: number;
  /** The same, each times its memory. */
  readonly memoryGiBSeconds: number;
  /** Bytes that left sandboxes to the outside. Packets that the kernel forwards count with their headers. */
  readonly egressBytes: number;
  /** Sandboxes that were made, forks among them. */
  readonly creates: number;
}

export interface TeamUsage {
  readonly use: TeamUse;
  /** Oldest first; hours without any use have none. */
  readonly hours: TeamUsageHour[];
}
