import type { Ids } from '../../config/ids.js';
import type { Tx } from '../../storage/schema.js';
import { type SystemReason, toRow } from './entry.js';
import { entryId } from './entry-id.js';

/** Puts down what the service does by itself, in the transaction that does it. */
export async function recordSystemAct(
  context: { config: { nodeId: string }; ids: Ids; now(): number },
  tx: Tx,
  act: { reason: SystemReason; operation: 'killSandbox' | 'pauseSandbox' | 'resumeSandbox' },
  sandbox: { id: string; team_id: string },
): Promise<void> {
  const atMs = context.now();
  const row = toRow(
    {
      actor: { kind: 'system', reason: act.reason },
      operation: act.operation,
      resource: { kind: 'sandbox', id: sandbox.id },
      teamId: sandbox.team_id,
    },
    { id: entryId(atMs, context.ids.hex(10)), atMs, nodeId: context.config.nodeId },
  );
  await tx
    .insertInto('audit_entries')
    .values({ ...row, status: 204, finished_at: atMs })
    .execute();
}
