import type { FastifyRequest } from 'fastify';
import type { Team } from '../auth/team.js';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { parseSandboxId } from '../ids/parse.js';
import type { ApiAnswer, NodeForwarder } from '../nodes/forwarder.js';
import { HERE, type Owner, ownerById, ownerOfSandbox } from '../nodes/ownership.js';
import { nodeOf, resolveTemplate } from '../sandboxes/resolve-template.js';
import type { RouteEntry } from './route-table.js';

type Ports = Uses<'config' | 'db' | 'keys' | 'nodes' | 'now' | 'sandboxes' | 'templates'>;

/** Which node has to answer a request: the one with its sandbox, or with the stored state that a new one starts from. */
function ownerOf(
  ports: Ports,
  route: RouteEntry,
  request: FastifyRequest,
  team: Team | undefined,
): Owner | Promise<Owner> {
  if (!ports.nodes.shared) return HERE;
  if (route.actsOn === 'sandbox')
    return ownerOfSandbox(ports, parseSandboxId((request.params as { sandboxID: string }).sandboxID));
  if (route.actsOn !== 'template' || team === undefined) return HERE;
  const { templateID } = request.body as { templateID: string };
  return resolveTemplate(ports, team, templateID).then(
    (resolved) => ownerById(ports, nodeOf(resolved)),
    // Whoever does it says what is wrong with the reference.
    () => HERE,
  );
}

/**
 * The answer of the node that owns what a request acts on; undefined: this one has to answer.
 * @throws {ApiError} 503 when that node is gone; what was passed on once is not passed on again
 */
export async function askOwner(
  ports: Ports,
  forwarder: NodeForwarder,
  route: RouteEntry,
  request: FastifyRequest,
  team: Team | undefined,
  signal: AbortSignal,
): Promise<ApiAnswer | undefined> {
  const owner = await ownerOf(ports, route, request, team);
  if (owner.kind === 'here') return undefined;
  if (owner.kind === 'gone' || forwarder.comesFromNode(request.raw)) throw errors.nodeGone();
  const { method, raw, headers, body, id } = request;
  return forwarder.ask(owner.node, { method, url: raw.url ?? '', headers, body, requestId: id, signal });
}
