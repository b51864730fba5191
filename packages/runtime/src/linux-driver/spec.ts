import { existsSync } from 'node:fs';
import { DriverError } from '../contract/errors.js';
import type { InstanceSpec } from '../contract/instance.js';

/** @throws {DriverError} `invalid_spec` for what no host could give, `unsupported` for what this one cannot. */
export function requireSpec(spec: InstanceSpec): void {
  const { cpuCount, memoryMiB } = spec.limits;
  if (cpuCount !== undefined && cpuCount < 0.01)
    throw new DriverError('invalid_spec', 'cpuCount is too small.');
  if (memoryMiB !== undefined && memoryMiB < 32)
    throw new DriverError('invalid_spec', 'memoryMiB is too small.');
  if (spec.network.egress === 'governed')
    throw new DriverError('unsupported', 'Nothing here decides by policy what a sandbox may reach.');
  for (const mount of spec.mounts) {
    if (
      mount.source?.startsWith('/') === false ||
      !mount.target.startsWith('/') ||
      mount.target.split('/').includes('..')
    ) {
      throw new DriverError('invalid_spec', 'Mounts need absolute paths.');
    }
    if (mount.source !== undefined && !existsSync(mount.source))
      throw new DriverError('invalid_spec', 'The source of a mount does not exist.');
  }
}

/** Instances of the same key are alike: one from the pool serves for any of them. */
export function poolKey(spec: InstanceSpec): string {
  return JSON.stringify([spec.layers, Object.entries(spec.limits).sort(), spec.network.egress, spec.mounts]);
}
