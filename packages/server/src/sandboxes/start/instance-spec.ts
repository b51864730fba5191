import { type InstanceSpec, type Isolation, isolations } from '@svc/runtime/contract';
import { egressOf } from '../../network/egress/policy-of.js';
import type { Uses } from '../context.js';
import { configOf } from '../state/config.js';
import type { SandboxRow } from '../state/live.js';
import { volumeMounts } from './volume-mounts.js';

/** Processes and threads that one sandbox may have. */
export const SANDBOX_PIDS = 2_048;

/**
 * Builds the specification for the driver.
 * @throws {ApiError} 400 for network settings that nobody enforces, and for mounts of deleted volumes; 500 for mounts
 */
export async function instanceSpec(
  context: Uses<'db' | 'driver' | 'volumes'>,
  row: SandboxRow,
): Promise<InstanceSpec> {
  const config = configOf(row);
  const mounts = config.mounts.length === 0 ? [] : await volumeMounts(context, row, config.mounts);
  return {
    ...poolableSpec(
      row,
      config.layers,
      isolations.find((each) => each === config.isolation),
    ),
    network: { egress: egressOf(config, context.driver.capabilities) },
    mounts,
    labels: { sandboxId: row.id, teamId: row.team_id },
  };
}

/** The part of a specification that decides whether a pooled instance fits. */
export function poolableSpec(
  sizes: { cpu_count: number; memory_mb: number; disk_mb: number },
  layers: string[],
  isolation?: Isolation,
): InstanceSpec {
  return {
    layers,
    ...(isolation === undefined ? {} : { isolation }),
    limits: {
      cpuCount: sizes.cpu_count,
      memoryMiB: sizes.memory_mb,
      diskMiB: sizes.disk_mb,
      pids: SANDBOX_PIDS,
    },
    network: { egress: 'internet' },
    mounts: [],
    labels: {},
  };
}
