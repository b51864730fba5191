import { existsSync } from 'node:fs';
import { DriverError } from '../contract/errors.js';
import type { InstanceNetwork, InstanceSpec } from '../contract/instance.js';

/** @throws {DriverError} `invalid_spec` for what no host could give, `unsupported` for what this one cannot. */
export function requireSpec(spec: InstanceSpec, governProblem: string | undefined): void {
  requireNetwork(spec.network, governProblem);
  const { cpuCount, memoryMiB } = spec.limits;
  if (cpuCount !== undefined && cpuCount < 0.01)
    throw new DriverError('invalid_spec', 'cpuCount is too small.');
  if (memoryMiB !== undefined && memoryMiB < 32)
    throw new DriverError('invalid_spec', 'memoryMiB is too small.');
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

/**
 * @param governProblem why there is no egress process.
 * @throws {DriverError} `unsupported`
 */
export function requireNetwork({ egress }: InstanceNetwork, governProblem: string | undefined): void {
  if (egress === 'governed' && governProblem !== undefined)
    throw new DriverError('unsupported', 'Nothing here decides by policy what a sandbox may reach.', {
      detail: governProblem,
    });
}

/** Returns the pooled specification for requests like this one; undefined for one that only its own caller can use. */
export function pooledSpecOf(spec: InstanceSpec): InstanceSpec | undefined {
  return spec.mounts.length > 0 ? undefined : { ...spec, network: { egress: 'internet' }, labels: {} };
}

/**
 * Any instance with the same key can serve a request. The network is not part of the key: it is changed when an instance is
 * acquired from the pool.
 */
export function poolKey(spec: InstanceSpec): string {
  return JSON.stringify([
    spec.layers,
    Object.entries(spec.limits).sort(),
    spec.mounts,
    spec.isolation ?? null,
  ]);
}
