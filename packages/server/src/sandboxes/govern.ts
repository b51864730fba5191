import { egressMode } from '@svc/egress/policy';
import type { Instance } from '@svc/runtime';
import type { Uses } from '../context/context.js';
import type { EgressRun } from '../context/sandbox-egress.js';
import { egressOf, policyOf } from '../egress/policy-of.js';
import { errors } from '../errors/catalog.js';
import { decryptJson } from '../keys/encrypted-json.js';
import { configOf } from '../sandbox-state/config.js';
import type { SandboxRow } from '../sandbox-state/live.js';

type Context = Uses<'egress' | 'keys' | 'log'>;

/**
 * Puts in force what a sandbox may send. A sandbox that is governed sends nothing until it settles; of others only the
 * look-up of names depends on it, so nobody waits.
 * @throws {ApiError} 503 when the egress process does not answer.
 */
export async function governSandbox(context: Context, row: SandboxRow, instance: Instance): Promise<void> {
  const run = runOf(context, row);
  const told = context.egress.set(instance, run);
  if (run.scope === undefined) {
    told.catch((error: unknown) =>
      context.log.debug({ err: error, sandboxId: row.id }, 'names of a sandbox cannot be looked up yet'),
    );
    return;
  }
  try {
    await told;
  } catch (error) {
    throw errors.egressUnreachable(error);
  }
}

/**
 * As {@link governSandbox}, of an instance that runs already: its mode is set again, because a change of it may have
 * broken off. The egress process is told when it can be reached; until then a governed instance sends nothing.
 */
export async function governAdopted(
  context: Context & Uses<'driver'>,
  row: SandboxRow,
  instance: Instance,
): Promise<void> {
  context.egress.set(instance, runOf(context, row)).catch(() => {});
  const { egressPolicy } = context.driver.capabilities;
  if (egressPolicy)
    await instance.setNetwork({ egress: egressOf(configOf(row), context.driver.capabilities) });
}

/** Whether programs of a sandbox have to trust the authority that signs for intercepted hosts. */
export function isIntercepted(row: Pick<SandboxRow, 'config'>): boolean {
  return Object.keys(configOf(row).network?.rules ?? {}).length > 0;
}

/** What the egress process is told of one run of a sandbox. */
function runOf(context: Uses<'keys'>, row: SandboxRow): EgressRun {
  const config = configOf(row);
  const secrets =
    row.encrypted_secrets === null ? {} : decryptJson(context.keys, 'sandbox', row.encrypted_secrets);
  const policy = policyOf(config, secrets);
  const execution = row.execution_id;
  if (egressMode(policy) !== 'governed') return { execution };
  const { id, team_id, execution_id, template_id } = row;
  const subject = { id, team_id, execution_id, template_id };
  return { execution, scope: { subject, policy, tokens: config.iam?.tokens, minted: new Map() } };
}
