/** What a team takes now, to be held against its limits. */
export interface TeamUse {
  /** Sandboxes that run. */
  readonly sandboxes: number;
  /** What those may use together. */
  readonly memoryMiB: number;
  /** Disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
  readonly storageMiB: number;
  /** What left its sandboxes in this month of the calendar, UTC. */
  readonly egressMonthMiB: number;
  readonly secrets: number;
  readonly webhooks: number;
}

/** What a team used in one hour. */
export interface TeamUsageHour {
  /** Its beginning. */
  readonly hour: Date;
  /** Time that sandboxes ran, all added up. */
  readonly sandboxSeconds: number;
  /** The same, each times its memory. */
  readonly memoryGiBSeconds: number;
  /** What left sandboxes to the outside. Packets that the kernel forwards count with their headers. */
  readonly egressBytes: number;
  /** Sandboxes that were made, forks among them. */
  readonly creates: number;
}

export interface TeamUsage {
  readonly use: TeamUse;
  /** Oldest first; hours without any use have none. */
  readonly hours: TeamUsageHour[];
}
