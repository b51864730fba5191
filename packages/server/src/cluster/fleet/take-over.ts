import { type SqlBool, sql } from 'kysely';
import { concurrently } from '../../api/context/concurrent.js';
import type { StartPorts } from '../../sandboxes/context.js';
import { begin } from '../../sandboxes/records/transition.js';
import { shownDuringRepair } from '../../sandboxes/recovery/repairs.js';
import { settle } from '../../sandboxes/recovery/settle.js';
import { enforceAdoptedEgress } from '../../sandboxes/start/enforce-egress.js';
import { newLive, type SandboxRow } from '../../sandboxes/state/live.js';
import type { Uses } from '../context.js';
import type { SandboxTakeOvers } from '../nodes/ownership.js';
import { nodeIsSilent } from '../nodes/registry.js';

/** Most sandboxes that are taken over in one round, and at the same time. */
const ROUND = 200;
const CONCURRENCY = 8;

type Ports = StartPorts & Uses<'draining' | 'takeOvers'>;

/**
 * Takes over sandboxes of silent nodes whose instances this node reaches as well, because all are on one cluster. Who had
 * them finds out by the version of the row: it can change nothing of them any more.
 */
export class TakeOvers implements SandboxTakeOvers {
  readonly #context: () => StartPorts & Uses<'draining'>;
  readonly #underWay = new Map<string, Promise<boolean>>();

  /** @param context a function, because the context contains what is made here. */
  constructor(context: () => StartPorts & Uses<'draining'>) {
    this.#context = context;
  }

  underWay(sandboxId: string): Promise<boolean> | undefined {
    return this.#underWay.get(sandboxId);
  }

  take(sandboxId: string): Promise<boolean> {
    const known = this.#underWay.get(sandboxId);
    if (known !== undefined) return known;
    const context = this.#context();
    const { shared } = context.driver;
    if (shared === undefined || !context.nodes.shared || context.nodes.taken || context.draining())
      return Promise.resolve(false);
    const taking = takeOver(context, shared.clusterId, sandboxId)
      .catch((error: unknown) => {
        context.log.warn({ err: error, sandboxId }, 'a sandbox of a silent node could not be taken over yet');
        return false;
      })
      .finally(() => this.#underWay.delete(sandboxId));
    this.#underWay.set(sandboxId, taking);
    return taking;
  }
}

/** Takes over what silent nodes of this node's cluster have. @returns how many sandboxes */
export async function takeOverLost(context: Ports): Promise<number> {
  const { db, driver, nodes, takeOvers } = context;
  if (driver.shared === undefined || !nodes.shared || nodes.taken) return 0;
  const left = await db
    .selectFrom('sandboxes')
    .select('id')
    .where('node_id', '!=', nodes.nodeId)
    .where(nodeIsSilent)
    .where(nodeIsOn(driver.shared.clusterId))
    .orderBy('end_at')
    .limit(ROUND)
    .execute();
  let taken = 0;
  await concurrently(left, CONCURRENCY, async ({ id }) => {
    if (await takeOvers.take(id)) taken += 1;
  });
  if (taken > 0) context.log.warn({ taken }, 'sandboxes of silent nodes were taken over');
  return taken;
}

async function takeOver(context: StartPorts, clusterId: string, sandboxId: string): Promise<boolean> {
  const { db, driver, nodes } = context;
  const row = await db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', sandboxId)
    .where('node_id', '!=', nodes.nodeId)
    .where(nodeIsSilent)
    .where(nodeIsOn(clusterId))
    .executeTakeFirst();
  if (row === undefined) return false;
  // While the cluster is unreachable, it is left to the first node that reaches it.
  await driver.shared!.hasInstance(row.id);
  const checkpoint = row.checkpoint_id !== null && (await driver.shared!.hasCheckpoint(row.checkpoint_id));
  const taken = await db.transaction().execute(async (tx) => {
    await nodes.assertOwned(tx);
    return tx
      .updateTable('sandboxes')
      .set({ node_id: nodes.nodeId, version: row.version + 1 })
      .where('id', '=', row.id)
      .where('version', '=', row.version)
      .where('node_id', '=', row.node_id)
      .where(nodeIsSilent)
      .returningAll()
      .executeTakeFirst();
  });
  if (taken === undefined) return false;
  await adoptSandbox(context, taken, checkpoint);
  return true;
}

/** Condition on rows of `sandboxes`: their node reported that its instances are on this cluster. */
function nodeIsOn(clusterId: string) {
  return sql<SqlBool>`exists (
    select 1 from nodes where nodes.id = sandboxes.node_id and nodes.report::json ->> 'clusterId' = ${clusterId})`;
}

/**
 * Adopts a sandbox whose row has just become this node's. Until that is done no request may use it. A failure is
 * repaired later; never rejects.
 * @param checkpoint whether the stored state that the row names is whole
 */
async function adoptSandbox(context: StartPorts, row: SandboxRow, checkpoint: boolean): Promise<void> {
  const live = newLive(row);
  try {
    live.instance = await context.driver.adopt(row.id);
    if (live.instance !== undefined) await enforceAdoptedEgress(context, row, live.instance);
    context.sandboxes.set(live);
    const found = { instance: live.instance !== undefined, checkpoint };
    await begin(context, live, shownDuringRepair[row.state], () => settle(context, live, found));
  } catch (error) {
    context.log.error(
      { err: error, sandboxId: row.id },
      'a sandbox could not be adopted, will be tried again',
    );
    live.instance = undefined;
    context.sandboxes.set(live);
    context.repairs.later(live);
  }
}
