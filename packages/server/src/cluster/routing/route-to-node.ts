import type { Team } from '../../api/auth/team-store.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { parseSandboxId } from '../../api/wire/ids.js';
import { isFull } from '../../sandboxes/start/placement-error.js';
import type { Uses } from '../context.js';
import { killLost } from '../fleet/lost-sandboxes.js';
import { type MovePorts, moveSandbox } from '../fleet/move-sandbox.js';
import { volumeHome } from '../fleet/volume-home.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { homeOfSandbox, ownerOfSandbox } from '../nodes/ownership.js';
import { type NewSandbox, type PlacePorts, placeSandbox } from './place-sandbox.js';
import { type Failure, HERE, onNode, type Route, toNode } from './route.js';

export type RoutingPorts = MovePorts & PlacePorts & Uses<'takeOvers'>;

/** A request, by what decides on its node. */
export interface RoutedOperation {
  operationId: string;
  /** `sandbox`: the node that has it. `placement`: the node that suits a new sandbox. `volume`: the node with its files. */
  runsOn: 'sandbox' | 'placement' | 'volume' | undefined;
  /** The operation wakes a paused sandbox, which another node than its own may do. */
  wakes: boolean;
  /** Another node passed it on: it is carried out here or not at all. */
  fromNode: boolean;
  params: { sandboxID?: string; volumeID?: string };
  body: unknown;
  team: Team | undefined;
}

/**
 * Decides where an operation is carried out: here, on another node, or on the node that its sandbox moves to.
 * @throws {ApiError} 503 when the node that it takes does not answer
 */
export async function* routeToNode(ports: RoutingPorts, operation: RoutedOperation): Route {
  const { runsOn, team, fromNode, body, params } = operation;
  if (!ports.nodes.shared) return yield HERE;
  if (runsOn === 'sandbox') return yield* toSandbox(ports, operation, parseSandboxId(params.sandboxID ?? ''));
  if (runsOn === 'placement' && team !== undefined)
    return yield* placeSandbox(ports, { team, fromNode, request: body as NewSandbox });
  if (runsOn === 'volume' && !fromNode) return yield* toVolume(ports, params.volumeID ?? '');
  return yield HERE;
}

/** Most moves of a sandbox while a request waits for it. */
const MOST_MOVES = 3;
/** Statuses of a node that does not have a sandbox any more: nothing was done. */
const MOVED_AWAY: ReadonlySet<number> = new Set([404, 503]);

/**
 * Leads to the node that has a sandbox, and to another one once more when the sandbox has moved there while the request waited.
 * A request that a node passed on ends here: that node looks again by itself.
 */
async function* toSandbox(ports: RoutingPorts, operation: RoutedOperation, sandboxId: string): Route {
  for (let moves = 0; ; moves += 1) {
    let failure: Failure | undefined;
    try {
      failure = yield* toOwner(ports, operation, sandboxId);
    } catch (error) {
      failure = { error };
    }
    if (failure === undefined || moves >= MOST_MOVES || operation.fromNode) return failure;
    const { error, at } = failure;
    if (!ApiError.is(error) || !MOVED_AWAY.has(error.status)) return failure;
    const home = await homeOfSandbox(ports, sandboxId);
    if (home === null || home === (at?.kind === 'node' ? at.node.id : ports.nodes.nodeId)) return failure;
  }
}

async function* toOwner(ports: RoutingPorts, operation: RoutedOperation, sandboxId: string): Route {
  const { team, fromNode, wakes } = operation;
  const owner = await ownerOfSandbox(ports, sandboxId);
  const waking = wakes && !fromNode && team !== undefined ? { sandboxId, teamId: team.id } : undefined;
  if (owner.kind === 'here') return waking === undefined ? yield HERE : yield* wakeOrMove(ports, waking);
  if (owner.kind === 'unreachable' && operation.operationId === 'killSandbox' && team !== undefined) {
    await killLost(ports, team.id, sandboxId);
    return yield { kind: 'done', answer: { status: 204 } };
  }
  if (owner.kind === 'unreachable' || fromNode) return { error: errors.nodeUnreachable() };
  if (waking === undefined) return yield* onNode(owner.node);
  const drained = (await ports.fleet.places()).some(
    ({ record, place }) => record.id === owner.node.id && place.drained,
  );
  const failure = drained ? undefined : yield* onNode(owner.node);
  if (!drained && !isRefusedAsFull(failure)) return failure;
  const moved = await moveSandbox(ports, waking);
  if (moved?.kind === 'here') return yield* wakeOrMove(ports, waking);
  if (moved?.kind === 'node') return yield* onNode(moved.node);
  return failure ?? (yield* onNode(owner.node));
}

/** Wakes a sandbox that this node has, or moves it first where this one is drained or has no place for it. */
export async function* wakeOrMove(
  ports: MovePorts,
  { sandboxId, teamId }: { sandboxId: string; teamId: string },
): Route {
  const move = () => moveSandbox(ports, { sandboxId, teamId });
  if (ports.nodes.drain !== 'no') {
    const moved = await move();
    if (moved?.kind === 'node') return yield* onNode(moved.node);
  }
  const failure = yield HERE;
  if (!isRefusedAsFull(failure)) return failure;
  const moved = await move();
  return moved?.kind === 'node' ? yield* onNode(moved.node) : failure;
}

/** Leads to the node that has the files of a volume; when that does not answer, to this one, which then deletes the record alone. */
async function* toVolume(ports: Uses<'db' | 'driver' | 'nodes'>, volumeId: string): Route {
  const home = await volumeHome(ports, volumeId.toLowerCase());
  if (home.kind !== 'node') return yield HERE;
  const failure = yield toNode(home.node);
  return NodeUnreachableError.is(failure?.error) ? yield HERE : failure;
}

function isRefusedAsFull(failure: Failure | undefined): boolean {
  return failure !== undefined && ApiError.is(failure.error) && isFull(failure.error);
}
