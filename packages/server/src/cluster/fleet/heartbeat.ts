import { concurrently } from '../../api/context/concurrent.js';
import { repeat } from '../../api/context/repeat.js';
import { pauseLive } from '../../sandboxes/change/pause.js';
import type { SandboxPorts } from '../../sandboxes/context.js';
import { endedOnOtherNode } from '../../sandboxes/recovery/ended-on-other-node.js';
import { fromJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import { newerSteps } from '../../storage/migrate.js';
import type { ClusterContext, Uses } from '../context.js';
import { HEARTBEAT_MS, NodeNameTakenError, nodeIsAlive } from '../nodes/registry.js';
import { measureNode } from './list-nodes.js';
import { failLostBuilds } from './lost-builds.js';
import { expireLost } from './lost-sandboxes.js';
import { NodeMover } from './node-mover.js';
import { takeOverLost } from './take-over.js';

/** Interval of checks of lost nodes, ms: expired sandboxes, and builds. */
const LOST_MS = 10_000;

/** Interval of checks for a newer schema, ms. */
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
      shareRates.addDemand(report),
    );
    await shareRates.read();
    if (!wasSilent) return;
    log.warn({}, 'this node was silent for so long that others took it for dead');
    await rejoin(context);
  };
  const logFailure = (what: string) => (error: unknown) =>
    log.error({ err: error }, `${what}, will be tried again`);
  // A driver that does not answer must not delay the heartbeat.
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
      else logFailure('the heartbeat failed')(error);
    }),
    repeat(HEARTBEAT_MS, measure, logFailure('this node could not be measured')),
    repeat(HEARTBEAT_MS, () => emptyNode(context), logFailure('emptying this node failed')),
    repeat(HEARTBEAT_MS, () => mover.round(), logFailure('moving things to other nodes failed')),
    repeat(SCHEMA_MS, compareSchema, logFailure('the schema could not be compared')),
    repeat(
      HEARTBEAT_MS,
      () => takeOverLost(context),
      logFailure('taking over sandboxes of lost nodes failed'),
    ),
    repeat(LOST_MS, () => expireLost(context), logFailure('ending sandboxes of lost nodes failed')),
    repeat(LOST_MS, () => failLostBuilds(context), logFailure('ending builds of lost nodes failed')),
  ];
  await measure().then(beat).catch(logFailure('this node could not be measured'));
  return async () => {
    mover.stop();
    await Promise.all(stops.map((stop) => stop()));
    await nodes.leave();
  };
}

/** Most sandboxes that are paused at the same time. */
const CONCURRENCY = 2;

/** Pauses what runs on this node while an operator empties it: see `drainNode`. Those in transition are looked at again. */
async function emptyNode(context: SandboxPorts): Promise<void> {
  if (context.nodes.drain !== 'pause' || context.nodes.taken) return;
  const running = [...context.sandboxes.values()].filter(
    (live) => live.row.state === 'running' && live.transition === undefined,
  );
  const memory = context.driver.capabilities.memorySnapshot;
  await concurrently(running, CONCURRENCY, async (live) => {
    if (live.transition !== undefined || live.deleted || live.row.state !== 'running') return;
    try {
      await pauseLive(context, live, memory);
    } catch (error) {
      context.log.warn(
        { err: error, sandboxId: live.row.id },
        'a sandbox of a drained node stays: it cannot be paused',
      );
    }
  });
}

/** Ends and reads again what others changed of this node's sandboxes while they took it for dead. */
async function rejoin(context: SandboxPorts): Promise<void> {
  const rows = await context.db
    .selectFrom('sandboxes')
    .select(['id', 'version'])
    .where('node_id', '=', context.config.nodeId)
    .execute();
  const versions = new Map(rows.map((row) => [row.id, row.version]));
  for (const live of [...context.sandboxes.values()]) {
    // One in transition writes its row, and finds out by itself.
    if (live.transition !== undefined || live.row.state === 'creating') continue;
    const version = versions.get(live.row.id);
    if (version === undefined) await endedOnOtherNode(context, live);
    else if (version !== live.row.version) {
      live.stale = true;
      context.repairs.later(live);
    }
  }
}

interface RateSharing {
  /** Adds what teams asked this node for since the last call. */
  addDemand(report: NodeReport | undefined): NodeReport | undefined;
  /** Applies the reports of the live nodes. */
  read(): Promise<void>;
}

/** Divides the rates of teams among the nodes, with each heartbeat. */
function rateSharing({ db, nodes, rates }: Uses<'db' | 'nodes' | 'rates'>): RateSharing {
  let takenAtMs = performance.now();
  return {
    addDemand(report) {
      if (report === undefined || rates.shares === undefined) return report;
      const now = performance.now();
      const demand = rates.shares.takeDemand(now - takenAtMs);
      takenAtMs = now;
      return { ...report, demand };
    },
    async read() {
      if (rates.shares === undefined) return;
      const rows = await db.selectFrom('nodes').select(['id', 'report']).where(nodeIsAlive).execute();
      const own = rows.findIndex(({ id }) => id === nodes.nodeId);
      // Others take this node for dead, and have its share.
      if (own === -1) return;
      rates.shares.update(
        rows.map(({ report }) => fromJson(report).demand ?? {}),
        own,
      );
    },
  };
}
