import type { Capabilities } from '../contract/capabilities.js';
import type { CreateOptions } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { InstanceNetwork } from '../contract/instance.js';
import { requireInstanceId } from '../shared/instance-id.js';
import { requireLabels } from '../shared/spec-rules.js';

/** The driver isolates and limits nothing, and says so. */
export const CAPABILITIES: Capabilities = {
  isolation: 'none',
  limits: false,
  diskLimit: false,
  memorySnapshot: false,
  mounts: false,
  networkIsolation: false,
  egressPolicy: false,
  layers: 'home',
  users: false,
  reasons: [
    'The process driver runs sandboxes as plain processes of this machine, with your rights: it isolates nothing and limits nothing.',
    'Memory cannot be stored without a container runtime; pause to disk keeps files only.',
  ],
};

/** Refuses what this driver would have to ignore silently. Limits are let through: they are asked for by default. */
export function requireSpec({ id, spec }: CreateOptions): void {
  requireInstanceId(id);
  requireLabels(spec.labels);
  if (spec.isolation !== undefined)
    throw new DriverError('unsupported', 'The process driver cannot isolate a sandbox.');
  if (spec.mounts.length > 0) {
    throw new DriverError('unsupported', 'The process driver cannot mount directories into a sandbox.');
  }
  requireNetwork(spec.network);
}

/** @throws {DriverError} `unsupported` for all but the network of the host. */
export function requireNetwork({ egress }: InstanceNetwork): void {
  if (egress !== 'internet')
    throw new DriverError('unsupported', 'The process driver cannot keep a sandbox from the network.');
}
