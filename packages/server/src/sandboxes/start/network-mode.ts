import type { Instance } from '@svc/runtime/contract';
import { egressOf } from '../../network/egress/policy-of.js';
import type { Uses } from '../context.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';

/** Changes of what a running sandbox may send, one after another for each. */
const underWay = new WeakMap<LiveSandbox, Promise<void>>();

/** Does something to the network of a sandbox after what is being done to it. */
export function inNetworkTurn(live: LiveSandbox, work: () => Promise<void>): Promise<void> {
  const done = (underWay.get(live) ?? Promise.resolve()).then(work);
  underWay.set(
    live,
    done.catch(() => {}),
  );
  return done;
}

/**
 * Sets the mode that the settings of a sandbox mean: none while its team sent all that it may this month.
 * @throws {DriverError} `unsupported`, `instance_gone`
 */
export async function setNetworkMode(
  { driver, egressLimits }: Uses<'driver' | 'egressLimits'>,
  row: SandboxRow,
  instance: Instance,
): Promise<void> {
  const { capabilities } = driver;
  const cut = capabilities.networkIsolation && egressLimits.isUsed(row.team_id);
  await instance.setNetwork({ egress: cut ? 'none' : egressOf(configOf(row), capabilities) });
  egressLimits.note(instance, cut);
}
