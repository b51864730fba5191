import { egressMode, forwardedOf } from '@svc/network-policy';
import { DriverError, type Instance } from '@svc/runtime/contract';
import { errors } from '../../api/errors/catalog.js';
import { policyOf, policyProblem } from '../../network/egress/policy-of.js';
import type { EgressRun, PlaceholderScope } from '../../network/sandbox-egress.js';
import { decryptJson } from '../../storage/keys/encrypted-setting.js';
import type { Uses } from '../context.js';
import { configOf } from '../state/config.js';
import type { SandboxRow } from '../state/live.js';
import { addToLog } from '../telemetry/collect-logs.js';
import { setNetworkMode } from './network-mode.js';

type Context = Uses<'config' | 'db' | 'egress' | 'keys' | 'log' | 'now' | 'sandboxes'>;

/**
 * Puts the network policy of a sandbox in force. A sandbox with a policy sends nothing until this settles; of others only the
 * look-up of names depends on it, so nobody waits.
 * @throws {ApiError} 503 when the egress process does not answer.
 */
export async function enforceEgress(context: Context, row: SandboxRow, instance: Instance): Promise<void> {
  const run = runOf(context, row);
  if (run.scope !== undefined) await forwardSome(context, run.scope, instance);
  const enforced = context.egress.set(instance, run);
  if (run.scope === undefined) {
    enforced.catch((error: unknown) =>
      context.log.debug({ err: error, sandboxId: row.id }, 'names of a sandbox cannot be looked up yet'),
    );
    return;
  }
  try {
    await enforced;
  } catch (error) {
    throw errors.egressUnreachable(error);
  }
}

/**
 * As {@link enforceEgress}, of an instance that runs already: its mode is set again, because a change of it may have
 * broken off. The egress process gets the policy when it can be reached; until then an instance with a policy sends nothing.
 */
export async function enforceAdoptedEgress(
  context: Context & Uses<'driver' | 'egressLimits'>,
  row: SandboxRow,
  instance: Instance,
): Promise<void> {
  const run = runOf(context, row);
  context.egress.set(instance, run).catch(() => {});
  const { egressPolicy, networkIsolation } = context.driver.capabilities;
  if (egressPolicy || networkIsolation) await setNetworkMode(context, row, instance);
  // Until it succeeds, what was forwarded stands still.
  if (run.scope !== undefined)
    await forwardSome(context, run.scope, instance).catch((error: unknown) =>
      context.log.warn({ err: error, sandboxId: row.id }, 'the traffic of a sandbox cannot be forwarded yet'),
    );
}

/**
 * Has the network forward what needs no decision of the egress process. Where it cannot, that process decides everything.
 * @throws {ApiError} 503 when what it forwarded before could not be withdrawn.
 */
async function forwardSome(
  context: Uses<'log'>,
  { policy }: PlaceholderScope,
  instance: Instance,
): Promise<void> {
  try {
    await instance.setForwarded?.(forwardedOf(policy));
  } catch (error) {
    if (!DriverError.is(error) || error.code !== 'unsupported') throw errors.egressUnreachable(error);
    context.log.warn(
      { err: error, sandboxId: instance.id },
      'all traffic of a sandbox passes the egress process',
    );
  }
}

/** Returns whether programs of a sandbox have to trust the authority that signs for intercepted hosts. */
export function isIntercepted(row: Pick<SandboxRow, 'config'>): boolean {
  return Object.keys(configOf(row).network?.rules ?? {}).length > 0;
}

/** Reports the settings of one sandbox that cannot be read, to the operator and to its owner. */
function reportUnreadable(context: Context, row: SandboxRow, problem: string): void {
  const { log, sandboxes } = context;
  log.error(
    { sandboxId: row.id, problem },
    'the network settings of a sandbox cannot be read: it sends nothing until they are replaced',
  );
  const live = sandboxes.get(row.id);
  if (live === undefined) return;
  const message = `egress denied: the network settings cannot be read, replace them (${problem})`;
  const entry = { at: context.now(), level: 'error', message, fields: { source: 'egress' } } as const;
  addToLog(context, live, [entry]).catch((error: unknown) =>
    log.debug({ err: error, sandboxId: row.id }, 'unreadable network settings could not be logged'),
  );
}

/** Returns what the egress process has to know of one run of a sandbox. */
function runOf(context: Context, row: SandboxRow): EgressRun {
  const config = configOf(row);
  const problem = policyProblem(config);
  if (problem !== undefined) reportUnreadable(context, row, problem);
  const secrets =
    row.encrypted_secrets === null ? {} : decryptJson(context.keys, 'sandbox', row.encrypted_secrets);
  const policy = policyOf(config, secrets);
  const execution = row.execution_id;
  if (egressMode(policy) !== 'governed') return { execution };
  const { id, team_id, execution_id, template_id } = row;
  const subject = { id, team_id, execution_id, template_id };
  return { execution, scope: { subject, policy, tokens: config.iam?.tokens, minted: new Map() } };
}
