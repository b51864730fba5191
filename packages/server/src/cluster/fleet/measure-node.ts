import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { activeSandboxes } from '../../sandboxes/start/capacity.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import { freeDiskBytes } from '../../teams/quota/storage-use.js';
import type { Uses } from '../context.js';

const mib = (bytes: number) => Math.floor(bytes / 2 ** 20);

/** Measures the load of this node. */
export async function measureNode(context: Uses<'config' | 'driver' | 'sandboxes'>): Promise<NodeReport> {
  const { config, driver } = context;
  const [pool, diskFreeBytes] = await Promise.all([driver.poolState(), freeDiskBytes(context)]);
  return {
    version: config.envdVersion,
    driver: driver.name,
    ...(driver.shared === undefined
      ? {}
      : { clusterId: driver.shared.clusterId, clusterHolder: driver.shared.holder }),
    running: activeSandboxes(context),
    maxSandboxes: config.maxSandboxes,
    pooled: pool.waiting,
    cpuCount: availableParallelism(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    memoryFreeMiB: mib(freemem()),
    memoryTotalMiB: mib(totalmem()),
    diskFreeMiB: mib(diskFreeBytes),
    ...(driver.transfers === undefined ? {} : { machine: driver.transfers.machine }),
  };
}
