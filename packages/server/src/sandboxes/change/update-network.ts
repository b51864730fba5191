import { parseRange } from '@svc/network-policy';
import type { components } from '@svc/platform';
import { DriverError, type Instance } from '@svc/runtime/contract';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { egressOf } from '../../network/egress/policy-of.js';
import { toJson } from '../../storage/json.js';
import type { NetworkConfig, SandboxConfig } from '../../storage/json-shapes.js';
import type { SandboxPorts, Uses } from '../context.js';
import { initDaemon } from '../daemon/daemon-control.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { changeRow } from '../records/rows.js';
import { admit } from '../records/transition.js';
import { decryptSecrets, encryptSecrets, trustOf } from '../start/boot.js';
import { enforceEgress, isIntercepted } from '../start/enforce-egress.js';
import { inNetworkTurn, setNetworkMode } from '../start/network-mode.js';
import { checkNetwork, checkProxyAddress, withoutPassword } from '../start/network-settings.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';
import { daemonToken } from '../state/sandbox-tokens.js';

type Ports = SandboxPorts & Uses<'retries'>;

/** Settings that could not be put in force are tried again after 1 s first, and so often at least, ms. */
const MAX_DELAY_MS = 60_000;

/**
 * Replaces the outbound part of the network settings; what is omitted is cleared. It is in force when this settles: for
 * new connections, and for open ones that are no longer allowed.
 * @throws {ApiError} 400, 403, 404, 409; 503 when the settings are stored but cannot be put in force yet. They are what counts from
 * then on: this is tried again until they are in force, and code that starts the sandbox again, or adopts it after a crash,
 * follows them too.
 */
export async function updateSandboxNetwork(
  context: Ports,
  team: Team,
  sandboxId: string,
  update: components['schemas']['SandboxNetworkUpdate'],
): Promise<void> {
  const { allow_internet_access: allowInternetAccess = null, ...egress } = update;
  const checked = checkNetwork(egress, team.flags);
  await checkProxyAddress(checked, context.config.egress.allowRanges);
  egressOf({ network: checked, allowInternetAccess }, context.driver.capabilities);
  const { live } = await admit(context, team.id, sandboxId, 'update');
  const password = checked.egressProxy?.password;
  const wasIntercepted = isIntercepted(live.row);
  await changeRow(
    context,
    live,
    (row) => {
      const before = configOf(row);
      const { egressProxyPassword: _, ...secrets } = decryptSecrets(context, row);
      const network = merge(before.network, withoutPassword(checked));
      const next: SandboxConfig = { ...before, network, allowInternetAccess };
      return {
        config: toJson(next),
        encrypted_secrets: encryptSecrets(context, {
          ...secrets,
          ...(password === undefined ? {} : { egressProxyPassword: password }),
        }),
      };
    },
    (tx, row) =>
      context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.updated', row, { network_egress: egressData(checked) }),
      ),
  );
  await inNetworkTurn(live, () => putInForce(context, live, wasIntercepted));
}

/** Makes a running sandbox follow its row. What a pause or an end took over meanwhile is left to it. */
async function putInForce(context: Ports, live: LiveSandbox, wasIntercepted: boolean): Promise<void> {
  const { row, instance } = live;
  if (instance === undefined) return;
  try {
    await tryPut(context, row, instance, wasIntercepted);
  } catch (error) {
    if (live.instance !== instance) return;
    context.retries.add(`network of sandbox ${row.id}`, () => tryAgain(context, live, instance), {
      maxDelayMs: MAX_DELAY_MS,
    });
    if (live.transition !== undefined) return;
    throw DriverError.is(error) ? errors.networkNotInForce(error.message, error) : error;
  }
}

async function tryPut(
  context: Ports,
  row: SandboxRow,
  instance: Instance,
  wasIntercepted: boolean,
): Promise<void> {
  const { egressPolicy, networkIsolation } = context.driver.capabilities;
  // A driver that can do neither has only sandboxes without such settings.
  if (!(egressPolicy || networkIsolation)) return;
  // The policy comes first, so that nothing that it allows is refused for want of it.
  await enforceEgress(context, row, instance);
  await setNetworkMode(context, row, instance);
  if (isIntercepted(row) || wasIntercepted)
    await initDaemon(instance, await trustOf(context, row, true), {
      tokens: [daemonToken(context.keys, row)],
    });
}

/** @throws what keeps the settings from being in force still */
async function tryAgain(context: Ports, live: LiveSandbox, instance: Instance): Promise<void> {
  // The next start follows the row.
  if (live.deleted || live.instance !== instance) return;
  if (live.transition !== undefined || live.row.state !== 'running')
    throw new Error('something else is done to the sandbox');
  // Changes meanwhile may have removed the rules that it trusted an authority for.
  await inNetworkTurn(live, () => tryPut(context, live.row, instance, true));
}

/** Ingress as it was, egress as given. */
function merge(before: NetworkConfig | undefined, egress: NetworkConfig): NetworkConfig {
  const { allowPublicTraffic, maskRequestHost, httpsPorts } = before ?? {};
  return {
    ...(allowPublicTraffic === undefined ? {} : { allowPublicTraffic }),
    ...(maskRequestHost === undefined ? {} : { maskRequestHost }),
    ...(httpsPorts === undefined ? {} : { httpsPorts }),
    ...egress,
  };
}

function egressData(network: NetworkConfig): Record<string, unknown> {
  const allow = network.allowOut ?? [];
  const isAddress = (entry: string) => parseRange(entry) !== undefined;
  return {
    allowed_cidrs: allow.filter(isAddress),
    denied_cidrs: network.denyOut ?? [],
    allowed_domains: allow.filter((entry) => !isAddress(entry)),
  };
}
