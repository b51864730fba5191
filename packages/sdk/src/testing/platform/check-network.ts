import { defaultDaemonPort } from '@svc/daemon';
import { type EgressSettings, PolicyError, readSettings } from '@svc/egress/policy';
import { Refusal } from '../answers/refusal.js';

/** Checks network settings by the rules that the service enforces. @returns the settings as they are stored @throws Refusal 400 */
export function checkNetwork<N extends EgressSettings & { httpsPorts?: readonly number[] }>(network: N): N {
  if (network.httpsPorts?.includes(defaultDaemonPort))
    throw new Refusal(400, `network.httpsPorts: ${defaultDaemonPort} is the daemon's port`);
  try {
    return readSettings(network);
  } catch (error) {
    if (error instanceof PolicyError) throw new Refusal(400, `network.${error.message}`);
    throw error;
  }
}
