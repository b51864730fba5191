import { DriverError } from '../contract/errors.js';
import type { Finding } from '../host/finding.js';
import { createIncusDriver } from './create-incus-driver.js';
import type { TriedFence } from './network/fences.js';
import { FENCE_HELP } from './network/judge-fence.js';
import type { IncusDriverOptions } from './options.js';

/**
 * Tries the fence of every member from inside probes, and removes them.
 * @param options with a data directory of its own: that of a server is in use.
 */
export async function checkFences(options: IncusDriverOptions): Promise<Finding[]> {
  try {
    const driver = await createIncusDriver({ ...options, fence: true });
    try {
      return judgeFences(await driver.fences.tryAll());
    } finally {
      await driver.close({ destroyInstances: true });
    }
  } catch (error) {
    if (!DriverError.is(error)) throw error;
    const message = `The fences could not be tried: ${error.message} ${error.detail ?? ''}`.trim();
    return [{ id: 'fences', ok: false, neededFor: 'networkIsolation', message }];
  }
}

/** Pure. */
export function judgeFences(tried: readonly TriedFence[]): Finding[] {
  return tried.map(({ member, problem }) => {
    const finding = { id: `fence-${member}`, neededFor: 'networkIsolation' } as const;
    return problem === undefined
      ? { ...finding, ok: true, message: `The fence of ${member} holds: it was tried from inside.` }
      : {
          ...finding,
          ok: false,
          message: `The fence of ${member} does not hold: ${problem}.`,
          fix: FENCE_HELP,
        };
  });
}
