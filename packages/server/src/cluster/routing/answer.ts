import type { FastifyRequest } from 'fastify';
import { ApiError, type ErrorRecord } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { AnyResult } from '../../api/operations.js';
import type { NodeRouting } from '../../api/routing.js';
import type { ApiAnswer, ApiRequest, NodeForwarder } from '../nodes/forwarder.js';
import { follow } from './route.js';
import { type RoutingPorts, routeToNode } from './route-to-node.js';

/** Has requests of the API answered on the node that they belong to. */
export function nodeRouting(ports: RoutingPorts, forwarder: NodeForwarder): NodeRouting {
  return {
    comesFromNode: (request) => forwarder.comesFromNode(request),
    answer({ route, request, team, signal }, here) {
      const operation = {
        ...{ operationId: route.operationId, runsOn: route.runsOn, wakes: route.rules.wakes === true, team },
        ...{ fromNode: forwarder.comesFromNode(request.raw), body: request.body },
        params: request.params as object,
      };
      return follow(routeToNode(ports, operation), async (destination) => {
        if (destination.kind === 'here') return here();
        if (destination.kind === 'done') return destination.answer;
        return resultOf(await forwarder.ask(destination.node, toApiRequest(request, signal)));
      });
    },
  };
}

function toApiRequest({ method, raw, headers, body, id }: FastifyRequest, signal: AbortSignal): ApiRequest {
  return { method, url: raw.url ?? '', headers, body, requestId: id, signal };
}

/** Reads the answer of another node, which nothing has checked so far, as a handler of this one would give it. @throws {ApiError} */
export function resultOf({ status, headers, body }: ApiAnswer): AnyResult {
  const parsed = body.length === 0 ? undefined : parse(body.toString('utf8'));
  if (status >= 200 && status < 300) {
    const { 'content-type': _, ...kept } = headers;
    return {
      status,
      headers: kept as Record<string, string>,
      ...(parsed === undefined ? {} : { body: parsed }),
    };
  }
  if (status < 400 || status > 599) throw errors.nodeUnreachable();
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
    throw errors.nodeUnreachable();
  }
}
