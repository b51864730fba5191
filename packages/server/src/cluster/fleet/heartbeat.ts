import { repeat } from '../../api/context/repeat.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import { newerSteps } from '../../storage/newer-steps.js';
import type { ClusterContext } from '../context.js';
import { NodeNameTakenError } from '../nodes/name-taken.js';
import { HEARTBEAT_MS } from '../nodes/registry.js';
import { emptyNode } from './empty-node.js';
import { failLostBuilds } from './lost-builds.js';
import { expireLost } from './lost-sandboxes.js';
import { measureNode } from './measure-node.js';
import { NodeMover } from './node-mover.js';
import { rateSharing } from './rate-sharing.js';
import { rejoin } from './rejoin.js';
import { takeOverLost } from './take-over.js';

/** Between two looks at what lost nodes had: sandboxes whose time is over, and builds. */
const LOST_MS = 10_000;

/** Between two looks for a newer schema, ms. */
const SCHEMA_MS = 60_000;

/**
 * Says at once, and then again and again, that this node lives and how full it is; follows what an operator asks of it.
 * @returns what stops it and says that the node leaves.
 */
export async function startHeartbeat(
  context: ClusterContext,
  addresses: { apiUrl: string; sandboxUrl: string },
): Promise<() => Promise<void>> {
  const { nodes, log } = context;
  const shareRates = rateSharing(context);
  const mover = new NodeMover(context);
  let report: NodeReport | undefined;
  const beat = async () => {
    if (nodes.taken) return;
    const { wasSilent } = await nodes.announce(
      addresses.apiUrl,
      addresses.sandboxUrl,
      shareRates.tell(report),
    );
    await shareRates.read();
    if (!wasSilent) return;
    log.warn({}, 'this node was silent for so long that others took it for dead');
    await rejoin(context);
  };
  const told = (what: string) => (error: unknown) =>
    log.error({ err: error }, `${what}, will be tried again`);
  // A driver that does not answer must not hold up the heartbeat.
  const measure = async () => {
    const { moving } = mover;
    report = { ...(await measureNode(context)), ...(moving === undefined ? {} : { moving }) };
  };
  let lastNewer = '';
  const compareSchema = async () => {
    const newer = (await newerSteps(context.db)).join(', ');
    if (newer !== lastNewer && newer !== '')
      log.warn({ newer }, 'a newer server has changed the schema of the database: update this one too');
    lastNewer = newer;
  };
  await beat();
  // Until now others may have taken this node for dead.
  if (context.driver.shared !== undefined) await rejoin(context);
  const stops = [
    repeat(HEARTBEAT_MS, beat, (error) => {
      if (error instanceof NodeNameTakenError) log.fatal({ err: error }, error.message);
      else told('the heartbeat failed')(error);
    }),
    repeat(HEARTBEAT_MS, measure, told('this node could not be measured')),
    repeat(HEARTBEAT_MS, () => emptyNode(context), told('emptying this node failed')),
    repeat(HEARTBEAT_MS, () => mover.round(), told('moving things to other nodes failed')),
    repeat(SCHEMA_MS, compareSchema, told('the schema could not be compared')),
    repeat(HEARTBEAT_MS, () => takeOverLost(context), told('taking over sandboxes of lost nodes failed')),
    repeat(LOST_MS, () => expireLost(context), told('ending sandboxes of lost nodes failed')),
    repeat(LOST_MS, () => failLostBuilds(context), told('ending builds of lost nodes failed')),
  ];
  await measure().then(beat).catch(told('this node could not be measured'));
  return async () => {
    mover.stop();
    await Promise.all(stops.map((stop) => stop()));
    await nodes.leave();
  };
}
