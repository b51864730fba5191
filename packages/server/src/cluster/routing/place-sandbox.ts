import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import type { NodeRecord } from '../../api/context/nodes.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { nodeOf, resolveTemplate } from '../../sandboxes/records/resolve-template.js';
import { holdersOf } from '../../sandboxes/start/bring-build.js';
import { isFull } from '../../sandboxes/start/placement-error.js';
import type { ResolvedTemplate } from '../../sandboxes/state/resolved-template.js';
import type { Uses } from '../context.js';
import { homeOfMounts } from '../fleet/volume-home.js';
import { clusterOf } from '../nodes/cluster-of.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { orderPlaces } from '../nodes/order-places.js';
import { ownerById } from '../nodes/ownership.js';
import { type Failure, HERE, onNode, type Route, toNode } from './route.js';

/** Most nodes that are tried for one sandbox. */
const MOST_TRIES = 5;

/** The reason of a refusal by a drained node that alone has what the sandbox needs, or that another node chose too late. */
const DRAINED = 'the server that would run it is being drained';

export type PlacePorts = Uses<
  'config' | 'copies' | 'db' | 'driver' | 'fleet' | 'log' | 'nodes' | 'templates'
>;

/** The members of a request for a new sandbox that decide on its node. */
export type NewSandbox = Pick<components['schemas']['NewSandboxV2'], 'templateID' | 'volumeMounts'>;

/**
 * Leads to the node that suits a new sandbox best, and to the next one when that is full or does not answer. A request that another node
 * passed on is carried out here or not at all.
 * @throws {ApiError} 503 `sandbox_capacity_unavailable` when no node has room
 */
export async function* placeSandbox(
  context: PlacePorts,
  { team, request, fromNode }: { team: Team; request: NewSandbox; fromNode: boolean },
): Route {
  const { nodes, fleet } = context;
  if (fromNode) return yield* hereUnlessDrained(context);
  const resolved = await resolveTemplate(context, team, request.templateID).catch(() => undefined);
  // The use case reports what is wrong with the reference.
  if (resolved === undefined) return yield HERE;
  const home = await homeOfMounts(context, team.id, request.volumeMounts ?? []);
  if (home !== undefined && 'nodeId' in home) return yield* toHolder(context, home.nodeId);
  const holder = nodeOf(resolved);
  // All nodes of a cluster reach what lies on it.
  const clusterId = (holder === null ? undefined : await clusterOf(context, holder)) ?? home?.clusterId;
  let full: Failure = {
    error: errors.capacityUnavailable('every server is being drained or does not answer'),
  };
  let tried = await candidates(context, resolved, clusterId);
  const copied = holder !== null && clusterId === undefined;
  if (copied) {
    // To copy what it starts from costs more than any place is worth: only where its holder cannot have it.
    const failure = yield* toHolder(context, holder);
    if (failure === undefined || !context.copies.possible || !isRefused(failure.error)) return failure;
    full = failure;
    tried = await orderForCopies(context, resolved, tried, holder);
  }
  for (const node of tried) {
    const failure = yield node.id === nodes.nodeId ? HERE : toNode(node);
    if (failure === undefined) {
      await fleet.sent(node.id);
      return undefined;
    }
    const { error } = failure;
    if (NodeUnreachableError.is(error)) {
      fleet.avoid(node.id);
      context.log.warn({ err: error, placedOnNodeId: node.id }, 'a node did not take a new sandbox');
      // It may have made the sandbox before it fell silent.
      if (error.taken) return { error: errors.nodeUnreachable(error) };
    } else if (ApiError.is(error) && isFull(error)) full = failure;
    // For copies the first refusal says more: this machine may only miss what the memory needs.
    else if (!copied || !isIncompatible(error)) return failure;
  }
  return full;
}

/** Leads to the node that alone has the objects or volumes of a sandbox. */
async function* toHolder(context: PlacePorts, nodeId: string): Route {
  const owner = await ownerById(context, nodeId);
  if (owner.kind === 'here') return yield* hereUnlessDrained(context);
  return owner.kind === 'unreachable' ? { error: errors.nodeUnreachable() } : yield* onNode(owner.node);
}

async function* hereUnlessDrained({ nodes }: Uses<'nodes'>): Route {
  return nodes.drain === 'no' ? yield HERE : { error: errors.capacityUnavailable(DRAINED) };
}

/** @param clusterId that a node has to be on; undefined: any will do */
async function candidates(
  { fleet, nodes }: PlacePorts,
  { build }: ResolvedTemplate,
  clusterId: string | undefined,
): Promise<NodeRecord[]> {
  const all = await fleet.places();
  const members = all.filter(({ place }) => clusterId === undefined || place.report?.clusterId === clusterId);
  const order = orderPlaces(
    members.map(({ place }) => place),
    // Pools hold sandboxes without layers of their own, unless they have followed demand.
    { memoryMiB: build.memory_mb, pooled: build.layers === '[]' },
  );
  const records = new Map(members.map(({ record }) => [record.id, record]));
  // Before the first heartbeat there is only this one.
  if (all.length === 0 && nodes.drain === 'no')
    return [{ id: nodes.nodeId, apiUrl: '', sandboxUrl: '', acknowledges: false }];
  return order.slice(0, MOST_TRIES).map((id) => records.get(id)!);
}

/** Puts nodes that have a copy first. None where no node can give one: the holder is silent, and no other has all of it. */
async function orderForCopies(
  context: PlacePorts,
  resolved: ResolvedTemplate,
  nodes: readonly NodeRecord[],
  holder: string,
): Promise<NodeRecord[]> {
  const others = nodes.filter(({ id }) => id !== holder);
  const holders = await holdersOf(context, resolved);
  const having = others.filter(({ id }) => holders.has(id));
  const giving = (await ownerById(context, holder)).kind !== 'unreachable' || having.length > 0;
  return giving ? [...having, ...others.filter(({ id }) => !holders.has(id))] : [];
}

/** Returns whether a node did not take a sandbox that another one may: it is full, drained, or does not answer. */
function isRefused(error: unknown): boolean {
  return ApiError.is(error) && (isFull(error) || (error.status === 503 && error.errorCode === undefined));
}

function isIncompatible(error: unknown): boolean {
  return ApiError.is(error) && error.errorCode === 'sandbox_no_compatible_node';
}
