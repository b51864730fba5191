import type { Driver } from './contract/driver.js';
import { DriverError } from './contract/errors.js';
import type { InstanceSpec } from './contract/instance.js';
import { randomId } from './shared/instance-id.js';

/**
 * Starts a sandbox, hears its daemon answer, and ends it: whatever a host seems to have, only this shows that it can.
 * @returns how long it took until the daemon answered, ms. Undefined: there is no room to try, which says nothing.
 * @throws {DriverError} what a create on this host gives.
 */
export async function trialStart(driver: Driver): Promise<number | undefined> {
  const spec: InstanceSpec = { layers: [], limits: {}, network: { egress: 'none' }, mounts: [], labels: {} };
  const since = performance.now();
  try {
    const instance = await driver.create({ id: randomId(), spec });
    const tookMs = Math.round(performance.now() - since);
    await instance.destroy();
    return tookMs;
  } catch (error) {
    if (DriverError.is(error) && ['no_capacity', 'storage_full'].includes(error.code)) return undefined;
    throw error;
  }
}
