import type { Finding } from './host/finding.js';
import { checkIncus as checkIncusAt } from './incus-driver/check-incus.js';
import type { IncusDriverOptions } from './incus-driver/options.js';
import { addressOf } from './trial-cluster/plan.js';
import { findTrialCluster } from './trial-cluster/trial-cluster.js';

/**
 * Where Incus answers: the address that was given, else the trial cluster of this machine if it runs.
 * @returns `trial`: whether it is the latter. No address: that of an Incus of this machine.
 */
export async function findIncus(
  given: string | undefined,
): Promise<{ address: string | undefined; trial: boolean }> {
  if (given !== undefined) return { address: given, trial: false };
  const found = await findTrialCluster();
  const trial = found?.up === true;
  return { address: trial ? addressOf(found.plan) : undefined, trial };
}

/** Looks whether the `incus` driver could run with these options. Changes nothing. */
export async function checkIncus(options: Partial<IncusDriverOptions> = {}): Promise<Finding[]> {
  const { address } = await findIncus(options.address);
  return checkIncusAt({ ...options, address });
}

/**
 * Tries from inside, on every member, whether sandboxes are kept from the network. It removes the probes that it starts.
 * @param options with a data directory of its own.
 */
export async function checkIncusFences(options: IncusDriverOptions): Promise<Finding[]> {
  // Loaded here: it is all of the driver.
  const { checkFences } = await import('./incus-driver/check-fences.js');
  const { address } = await findIncus(options.address);
  return checkFences({ ...options, address });
}
