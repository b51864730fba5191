import { existsSync } from 'node:fs';
import { egressProgram } from '@svc/egress';
import { daemonProgram } from '@svc/envd';
import type { DriverOptions } from '@svc/runtime';

/**
 * What a driver starts beside sandboxes. In a checkout that was not built the egress process is missing: the driver then
 * has no `egressPolicy`, and settings that need it are refused.
 */
export function driverPrograms(): Pick<DriverOptions, 'daemon' | 'egress'> {
  const { entry } = egressProgram;
  return { daemon: daemonProgram, ...(existsSync(entry) ? { egress: { entry } } : {}) };
}
