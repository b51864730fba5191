import type { operatorComponents } from '@svc/platform/operator';
import type { Selectable } from 'kysely';
import { isoTime } from '../api/wire/time.js';
import type { TeamUsageTable } from '../storage/schema.js';
import type { TeamUse } from './team-use.js';

export function usageToWire(
  use: TeamUse,
  hours: readonly Selectable<TeamUsageTable>[],
): operatorComponents['schemas']['TeamUsage'] {
  return {
    use: {
      sandboxes: use.sandboxes,
      memoryMB: use.memoryMiB,
      storageMB: Math.ceil(use.storageBytes / 2 ** 20),
      egressMonthMB: Math.floor(use.egressMonthBytes / 2 ** 20),
      secrets: use.secrets,
      webhooks: use.webhooks,
    },
    hours: hours.map((row) => ({
      hour: isoTime(row.hour),
      sandboxSeconds: Math.round(row.sandbox_ms / 1000),
      memoryMBSeconds: Math.round(row.memory_mib_ms / 1000),
      egressBytes: row.egress_bytes,
      creates: row.creates,
    })),
  };
}
