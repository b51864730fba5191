import { existsSync } from 'node:fs';
import { egressProgram } from '@svc/egress';
import { daemonProgram } from '@svc/envd';
import { DriverError, type DriverOptions } from '@svc/runtime/contract';
import { IDS_PER_INSTANCE } from '@svc/runtime/linux';
import type { ServerOptions } from './options.js';
import { LINUX_POOL_SIZE, settings } from './settings.js';

/**
 * Derives the options of the `linux` driver from those of the server.
 * @throws {DriverError} `unsupported` for user ids that are too few, and a transfer key that is none
 */
export function linuxOptions(options: ServerOptions) {
  const { ociRuntime, baseRoot, isolation, maxMemoryMiB, diskReserveMiB, egress, userIds, transferKey } =
    options;
  if (userIds !== undefined) requireEnoughIds(userIds.count, options);
  return {
    ...(userIds === undefined ? {} : { ids: userIds }),
    ...(egress?.allowRanges === undefined ? {} : { network: { allowRanges: egress.allowRanges } }),
    ...(ociRuntime === undefined ? {} : { ociRuntime }),
    ...(baseRoot === undefined ? {} : { baseRoot }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(maxMemoryMiB === undefined ? {} : { maxMemoryMiB }),
    ...(diskReserveMiB === undefined ? {} : { reserveMiB: diskReserveMiB }),
    ...(transferKey === undefined ? {} : { transferKey: keyOf(transferKey) }),
  };
}

function keyOf(transferKey: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(transferKey)) return Buffer.from(transferKey, 'hex');
  throw new DriverError(
    'unsupported',
    'The transfer key must be 64 hexadecimal digits, the same on every host: `openssl rand -hex 32` makes one.',
  );
}

/** The driver has network addresses for so many. */
const MOST_INSTANCES = 1_024;

function requireEnoughIds(
  count: number,
  { maxSandboxes = settings.maxSandboxes.default, poolSize = LINUX_POOL_SIZE }: ServerOptions,
): void {
  const instances = Math.min(maxSandboxes + poolSize, MOST_INSTANCES);
  const held = Math.floor(count / IDS_PER_INSTANCE);
  if (held >= instances) return;
  throw new DriverError(
    'unsupported',
    `userIds has user ids for ${held} sandboxes, and ${instances} may run or wait in the pool at once: give it ${instances * IDS_PER_INSTANCE} ids (${IDS_PER_INSTANCE} for each), or set maxSandboxes to ${Math.max(1, held - poolSize)}.`,
  );
}

/**
 * Returns the programs that a driver starts beside sandboxes. In a checkout that was not built the egress process is missing: the driver then
 * has no `egressPolicy`, and settings that need it are refused.
 */
export function driverPrograms(): Pick<DriverOptions, 'daemon' | 'egress'> {
  const { entry } = egressProgram;
  return { daemon: daemonProgram, ...(existsSync(entry) ? { egress: { entry } } : {}) };
}
