import { DriverError, type Isolation } from '@svc/runtime';
import type { Runtime } from './join-runtime.js';

/**
 * What keeps sandboxes apart is up to a `svc-runtime` that was started by itself, with options of its own. A server that was told
 * something else must not run: its sandboxes would not be what its operator takes them for.
 * @param isolation that the server was told; undefined: whatever the other process was told
 * @throws {DriverError} `unsupported`
 */
export function requireIsolation(
  isolation: Isolation | undefined,
  { driver }: Pick<Runtime, 'driver'>,
  socketPath: string,
): void {
  const { isolation: theirs } = driver.capabilities;
  if (isolation === undefined || isolation === theirs) return;
  throw new DriverError(
    'unsupported',
    `The server is to keep sandboxes apart by "${isolation}", and the svc-runtime at ${socketPath} does by "${theirs}": give both the same isolation (SVC_ISOLATION in the units or isolation in the configuration file that both read), restart svc-runtime, and start the server again.`,
  );
}
