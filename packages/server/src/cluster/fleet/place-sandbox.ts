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
import { clusterOf } from '../nodes/cluster-of.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { orderPlaces } from '../nodes/order-places.js';
import { ownerById } from '../nodes/ownership.js';
import { homeOfMounts } from './volume-home.js';

/** How many nodes are tried for one sandbox, at most. */
const MOST_TRIES = 5;

/** What it starts from, or mounts, is there and nowhere else; or there was no time to know better. */
const DRAINED = 'the server that would run it is being drained';

type Ports = Uses<'config' | 'copies' | 'db' | 'driver' | 'fleet' | 'log' | 'nodes' | 'templates'>;

/** Has another node answer the request that is being answered. @throws {ApiError} its failure; {NodeUnreachableError} */
export type PassOn<A> = (node: NodeRecord) => Promise<A>;

/**
 * Makes a sandbox on the node that suits best, and on the next one when that is full or does not answer.
 * @param passOn undefined where another node passed the request on: it is done here or not at all.
 * @throws {ApiError} 503 `sandbox_capacity_unavailable` when no node has room
 */
export async function placeSandbox<A>(
  context: Ports,
  {
    team,
    request,
    passOn,
  }: {
    team: Team;
    request: Pick<components['schemas']['NewSandboxV2'], 'templateID' | 'volumeMounts'>;
    passOn: PassOn<A> | undefined;
  },
  here: () => Promise<A>,
): Promise<A> {
  const { nodes, fleet } = context;
  if (!nodes.shared) return here();
  if (passOn === undefined) {
    if (nodes.drain !== 'no') throw errors.capacityUnavailable(DRAINED);
    return here();
  }
  const resolved = await resolveTemplate(context, team, request.templateID).catch(() => undefined);
  // Whoever makes it says what is wrong with the reference.
  if (resolved === undefined) return here();
  const home = await homeOfMounts(context, team.id, request.volumeMounts ?? []);
  if (home !== undefined && 'nodeId' in home) return makeThere(context, home.nodeId, passOn, here);
  const holder = nodeOf(resolved);
  // What lies on a cluster is there for all of its nodes.
  const clusterId = (holder === null ? undefined : await clusterOf(context, holder)) ?? home?.clusterId;
  let full: unknown = errors.capacityUnavailable('every server is being drained or does not answer');
  let tried = await candidates(context, resolved, clusterId);
  const copied = holder !== null && clusterId === undefined;
  if (copied) {
    // To copy what it starts from costs more than any place is worth: only where its holder cannot have it.
    try {
      return await makeThere(context, holder, passOn, here);
    } catch (error) {
      if (!context.copies.possible || !isRefused(error)) throw error;
      full = error;
    }
    tried = await orderForCopies(context, resolved, tried, holder);
  }
  for (const node of tried) {
    try {
      const made = await (node.id === nodes.nodeId ? here() : passOn(node));
      await fleet.sent(node.id);
      return made;
    } catch (error) {
      if (NodeUnreachableError.is(error)) {
        fleet.avoid(node.id);
        context.log.warn({ err: error, placedOnNodeId: node.id }, 'a node did not take a new sandbox');
        // It may have made the sandbox before it fell silent.
        if (error.taken) throw errors.nodeGone(error);
      } else if (ApiError.is(error) && isFull(error)) full = error;
      // Of what is copied, the first refusal tells more: that machine may only lack what this one's memory needs.
      else if (copied && isIncompatible(error)) continue;
      else throw error;
    }
  }
  throw full;
}

async function makeThere<A>(
  context: Ports,
  nodeId: string,
  passOn: PassOn<A>,
  here: () => Promise<A>,
): Promise<A> {
  const owner = await ownerById(context, nodeId);
  if (owner.kind === 'here') {
    if (context.nodes.drain !== 'no') throw errors.capacityUnavailable(DRAINED);
    return here();
  }
  if (owner.kind === 'gone') throw errors.nodeGone();
  return passOn(owner.node).catch((error: unknown) => {
    throw NodeUnreachableError.is(error) ? errors.nodeGone(error) : error;
  });
}

/** @param clusterId that a node has to be on; undefined: any will do */
async function candidates(
  { fleet, nodes }: Ports,
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

/** Those that have a copy first. None where nobody can give one: the holder is silent, and nobody else has all of it. */
async function orderForCopies(
  context: Ports,
  resolved: ResolvedTemplate,
  nodes: readonly NodeRecord[],
  holder: string,
): Promise<NodeRecord[]> {
  const others = nodes.filter(({ id }) => id !== holder);
  const holders = await holdersOf(context, resolved);
  const having = others.filter(({ id }) => holders.has(id));
  const giving = (await ownerById(context, holder)).kind !== 'gone' || having.length > 0;
  return giving ? [...having, ...others.filter(({ id }) => !holders.has(id))] : [];
}

/** Whether a node did not take a sandbox that another one may: it is full, drained, or does not answer. */
function isRefused(error: unknown): boolean {
  return ApiError.is(error) && (isFull(error) || (error.status === 503 && error.errorCode === undefined));
}

function isIncompatible(error: unknown): boolean {
  return ApiError.is(error) && error.errorCode === 'sandbox_no_compatible_node';
}
