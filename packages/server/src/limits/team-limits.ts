/** What a team may use. */
export interface TeamLimits {
  /** Longest time to live of a sandbox. */
  maxTimeToLiveSeconds: number;
  /** Sandboxes that run at once. */
  maxConcurrentSandboxes: number;
  /** Template builds that run at once. */
  maxConcurrentBuilds: number;
  /** Most processor cores of one sandbox. */
  maxCpuCount: number;
  /** Most memory of one sandbox. */
  maxMemoryMiB: number;
  /** Most of the disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
  maxStorageMiB: number;
  /** Most that one volume holds. */
  maxVolumeMiB: number;
  /** Most secrets. */
  maxSecrets: number;
  /** Most webhooks. */
  maxWebhooks: number;
}

export interface TeamFlags {
  egressProxy: boolean;
}

export const defaultTeamLimits: TeamLimits = {
  maxTimeToLiveSeconds: 86_400,
  maxConcurrentSandboxes: 500,
  maxConcurrentBuilds: 20,
  maxCpuCount: 8,
  maxMemoryMiB: 8192,
  maxStorageMiB: 102_400,
  maxVolumeMiB: 10_240,
  maxSecrets: 50,
  maxWebhooks: 10,
};
