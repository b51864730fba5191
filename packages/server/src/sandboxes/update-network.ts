import type { components } from '@svc/platform';
import type { Team } from '../auth/team.js';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { configOf } from '../sandbox-state/config.js';
import { toJson } from '../storage/json.js';
import type { NetworkConfig, SandboxConfig } from '../storage/json-shapes.js';
import { decryptSecrets, encryptSecrets } from './boot.js';
import { lifecycleEvent } from './lifecycle-events.js';
import type { RowPorts } from './ports.js';
import { changeRow } from './rows.js';
import { admit } from './transition.js';
import { checkNetwork, egressOf, isAddress } from './validate-network.js';

/**
 * Replaces the outbound part of the network settings; what is omitted is cleared.
 * @throws {ApiError} 400, 403, 404, 409
 */
export async function updateSandboxNetwork(
  context: RowPorts & Uses<'driver' | 'keys'>,
  team: Team,
  sandboxId: string,
  update: components['schemas']['SandboxNetworkUpdate'],
): Promise<void> {
  const { allow_internet_access: allowInternetAccess = null, ...egress } = update;
  const checked = checkNetwork(egress, team.flags);
  const capabilities = context.driver.capabilities;
  const wanted = egressOf(checked, allowInternetAccess, capabilities);
  const { live } = await admit(context, team.id, sandboxId, 'update');
  const config = configOf(live.row);
  if (egressOf(config.network, config.allowInternetAccess, capabilities) !== wanted)
    throw errors.badRequest('this server cannot switch the internet access of a running sandbox yet');
  await changeRow(
    context,
    live,
    (row) => {
      const before = configOf(row);
      const { egressProxyPassword: _, ...secrets } = decryptSecrets(context, row);
      const next: SandboxConfig = { ...before, network: merge(before.network, checked), allowInternetAccess };
      return { config: toJson(next), encrypted_secrets: encryptSecrets(context, secrets) };
    },
    (tx, row) =>
      context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.updated', row, { network_egress: egressData(checked) }),
      ),
  );
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
  return {
    allowed_cidrs: allow.filter(isAddress),
    denied_cidrs: network.denyOut ?? [],
    allowed_domains: allow.filter((entry) => !isAddress(entry)),
  };
}
