import type { FastifyRequest } from 'fastify';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { parseSandboxId } from '../ids/parse.js';
import { type ForwardedAnswer, forwardApi } from '../nodes/forward-api.js';
import { ElsewhereError, otherOwnerOf } from '../nodes/owner.js';
import { isFromNode, NODE_HEADER } from '../nodes/proof.js';
import type { RouteEntry } from './route-table.js';

/** Whether another node passed this request on. It has counted it against rate limits already. */
export function comesFromNode(context: Uses<'keys' | 'nodes' | 'now'>, request: FastifyRequest): boolean {
  const header = request.headers[NODE_HEADER];
  if (header === undefined || !context.nodes.shared) return false;
  const meant = { method: request.method, url: request.raw.url ?? '' };
  return isFromNode(context.keys, header, meant, context.now());
}

/**
 * Runs a handler here, or has the node answer that owns the sandbox, or the stored state that a new one starts from.
 * @throws {ApiError} 503 when that node is gone; what was passed on once is not passed on again
 */
export async function hereOrElsewhere<T>(
  context: Uses<'db' | 'keys' | 'nodes' | 'now' | 'sandboxes'>,
  route: RouteEntry,
  request: FastifyRequest,
  signal: AbortSignal,
  run: () => Promise<T> | T,
): Promise<T | { forwarded: ForwardedAnswer }> {
  if (!context.nodes.shared) return run();
  const owner = route.path.includes('{sandboxID}')
    ? await otherOwnerOf(context, parseSandboxId((request.params as { sandboxID: string }).sandboxID))
    : undefined;
  if (owner !== undefined) return passOn(context, owner, request, signal);
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ElsewhereError)) throw error;
    return passOn(context, error.nodeId, request, signal);
  }
}

async function passOn(
  context: Uses<'keys' | 'nodes' | 'now'>,
  nodeId: string,
  request: FastifyRequest,
  signal: AbortSignal,
): Promise<{ forwarded: ForwardedAnswer }> {
  if (comesFromNode(context, request)) throw errors.nodeGone();
  const forwarded = await forwardApi(context, nodeId, {
    method: request.method,
    url: request.raw.url ?? '',
    headers: request.headers,
    body: request.body,
    requestId: request.id,
    signal,
  });
  return { forwarded };
}
