import { errors } from '../api/errors/catalog.js';
import type { TeamLimits } from '../config/team-limits.js';

export interface BuildSize {
  cpuCount: number;
  memoryMiB: number;
  diskMiB: number;
}

const DEFAULT_SIZE: BuildSize = { cpuCount: 2, memoryMiB: 1024, diskMiB: 10_240 };
const MAX_DISK_MIB = 25_600;

/**
 * What sandboxes of a new build get. Omitted: 2 cores, 1024 MiB of memory, 10240 MiB of disk.
 * @throws {ApiError} 400 for odd numbers and for more than the team may use
 */
export function checkBuildSize(
  wanted: {
    cpuCount?: number | undefined;
    memoryMB?: number | undefined;
    minFreeDiskMb?: number | undefined;
  },
  limits: Pick<TeamLimits, 'maxCpuCount' | 'maxMemoryMiB'>,
): BuildSize {
  const cpuCount = wanted.cpuCount ?? Math.min(DEFAULT_SIZE.cpuCount, limits.maxCpuCount);
  if (cpuCount !== 1 && cpuCount % 2 !== 0) throw errors.badRequest('cpuCount must be 1 or an even number');
  if (cpuCount > limits.maxCpuCount)
    throw errors.badRequest(`cpuCount must be at most ${limits.maxCpuCount}, the limit of the team`);
  const memoryMiB = wanted.memoryMB ?? Math.min(DEFAULT_SIZE.memoryMiB, limits.maxMemoryMiB);
  if (memoryMiB % 2 !== 0) throw errors.badRequest('memoryMB must be an even number');
  if (memoryMiB > limits.maxMemoryMiB)
    throw errors.badRequest(`memoryMB must be at most ${limits.maxMemoryMiB}, the limit of the team`);
  const diskMiB = wanted.minFreeDiskMb ?? DEFAULT_SIZE.diskMiB;
  if (diskMiB > MAX_DISK_MIB) throw errors.badRequest(`minFreeDiskMb must be at most ${MAX_DISK_MIB}`);
  return { cpuCount, memoryMiB, diskMiB };
}
