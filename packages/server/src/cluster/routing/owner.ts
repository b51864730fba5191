import type { FastifyRequest } from 'fastify';
import type { NodeRecord } from '../../api/context/nodes.js';
import { ApiError, type ErrorRecord } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { AnyResult } from '../../api/operations.js';
import type { RoutedRequest } from '../../api/routing.js';
import { parseSandboxId } from '../../api/wire/ids.js';
import { isFull } from '../../sandboxes/start/placement-error.js';
import type { Uses } from '../context.js';
import { killLost } from '../fleet/lost-sandboxes.js';
import { type MovePorts, moveSandbox } from '../fleet/move-sandbox.js';
import type { ApiAnswer, ApiRequest, NodeForwarder } from '../nodes/forwarder.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { ownerOfSandbox } from '../nodes/ownership.js';

export type OwnerPorts = MovePorts & Uses<'takeOvers'>;

export interface OwnedRequest extends RoutedRequest {
  forwarder: NodeForwarder;
}

/**
 * The answer of the node that has the sandbox that a request acts on; undefined: this one has to answer.
 * @param onAsk is told which node is asked
 * @throws {ApiError} 503 when that node is gone; what was passed on once is not passed on again
 */
export async function askOwner(
  ports: OwnerPorts,
  { forwarder, route, request, team, signal }: OwnedRequest,
  onAsk: (nodeId: string) => void,
): Promise<ApiAnswer | undefined> {
  if (!ports.nodes.shared || route.actsOn !== 'sandbox') return undefined;
  const sandboxId = parseSandboxId((request.params as { sandboxID: string }).sandboxID);
  const owner = await ownerOfSandbox(ports, sandboxId);
  if (owner.kind === 'here') return undefined;
  if (owner.kind === 'gone' && route.operationId === 'killSandbox' && team !== undefined) {
    await killLost(ports, team.id, sandboxId);
    return { status: 204, headers: {}, body: Buffer.alloc(0) };
  }
  if (owner.kind === 'gone' || forwarder.comesFromNode(request.raw)) throw errors.nodeGone();
  const ask = (node: NodeRecord) => {
    onAsk(node.id);
    return forwarder.ask(node, toApiRequest(request, signal)).catch((error: unknown) => {
      throw NodeUnreachableError.is(error) ? errors.nodeGone(error) : error;
    });
  };
  if (!WAKING.has(route.operationId) || team === undefined) return ask(owner.node);
  const drained = (await ports.fleet.places()).some(
    ({ record, place }) => record.id === owner.node.id && place.drained,
  );
  let answer: ApiAnswer | undefined;
  if (!drained) {
    answer = await ask(owner.node);
    if (!isFull({ status: answer.status, errorCode: errorCodeOf(answer) })) return answer;
  }
  const moved = await moveSandbox(ports, { sandboxId, teamId: team.id });
  if (moved?.kind === 'here') return undefined;
  if (moved?.kind === 'node') return ask(moved.node);
  return answer ?? ask(owner.node);
}

/** What wakes a paused sandbox, which another node than its own may do. */
const WAKING: ReadonlySet<string> = new Set(['resumeSandbox', 'connectSandbox', 'connectSandboxV2']);

function errorCodeOf({ body }: ApiAnswer): unknown {
  try {
    return (JSON.parse(body.toString('utf8')) as Partial<ErrorRecord>).error_code;
  } catch {
    return undefined;
  }
}

/** How a handler has another node answer its request; undefined for one that a node passed on. */
export function passOnOf(
  ports: Uses<'nodes'>,
  forwarder: NodeForwarder,
  request: FastifyRequest,
  signal: AbortSignal,
): ((node: NodeRecord) => Promise<AnyResult>) | undefined {
  if (!ports.nodes.shared || forwarder.comesFromNode(request.raw)) return undefined;
  return async (node) => resultOf(await forwarder.ask(node, toApiRequest(request, signal)));
}

function toApiRequest({ method, raw, headers, body, id }: FastifyRequest, signal: AbortSignal): ApiRequest {
  return { method, url: raw.url ?? '', headers, body, requestId: id, signal };
}

/** What a node answered, as a handler of this node would have. Its shape is its own affair until here. @throws {ApiError} */
export function resultOf({ status, headers, body }: ApiAnswer): AnyResult {
  const parsed = body.length === 0 ? undefined : parse(body.toString('utf8'));
  if (status >= 200 && status < 300) return parsed === undefined ? { status } : { status, body: parsed };
  if (status < 400 || status > 599) throw errors.nodeGone();
  const { message, error_code: errorCode } = (parsed ?? {}) as { [name in keyof ErrorRecord]?: unknown };
  const retryAfter = headers['retry-after'];
  throw new ApiError({
    status,
    message: typeof message === 'string' ? message : 'another node of the service failed',
    ...(typeof errorCode === 'string' ? { errorCode } : {}),
    ...(typeof retryAfter === 'string' ? { headers: { 'Retry-After': retryAfter } } : {}),
  });
}

/** @throws {ApiError} 503 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw errors.nodeGone();
  }
}
