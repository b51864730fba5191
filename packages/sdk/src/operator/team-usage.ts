/** What a team takes now, to be held against its limits. */
export interface TeamUse {
  /** Sandboxes that run. */
  readonly sandboxes: number;
  /** What those may use together. */
  readonly memoryMiB: number;
  /** Disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
  readonly storageMiB: number;
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
  /** What left sandboxes whose network has settings; others are not counted. */
  readonly egressBytes: number;
  /** Sandboxes that were made, forks among them. */
  readonly creates: number;
}

export interface TeamUsage {
  readonly use: TeamUse;
  /** Oldest first; hours without any use have none. */
  readonly hours: TeamUsageHour[];
}
