/** What a team may use. */
export interface TeamLimits {
  maxTimeToLiveSeconds: number;
  maxConcurrentSandboxes: number;
  maxConcurrentBuilds: number;
  maxCpuCount: number;
  maxMemoryMiB: number;
  maxSecrets: number;
  maxWebhooks: number;
}

export interface TeamFlags {
  egressProxy: boolean;
}

export interface Team {
  id: string;
  slug: string;
  name: string;
  limits: TeamLimits;
  flags: TeamFlags;
  banned: boolean;
  blocked: boolean;
  blockedReason: string | null;
  createdAtMs: number;
}

export const defaultTeamLimits: TeamLimits = {
  maxTimeToLiveSeconds: 86_400,
  maxConcurrentSandboxes: 500,
  maxConcurrentBuilds: 20,
  maxCpuCount: 8,
  maxMemoryMiB: 8192,
  maxSecrets: 50,
  maxWebhooks: 10,
};
