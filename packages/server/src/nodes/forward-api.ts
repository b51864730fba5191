import type { IncomingHttpHeaders } from 'node:http';
import { request as send } from 'undici';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { requireAlive } from './owner.js';
import { NODE_HEADER, proveNode } from './proof.js';

export interface ApiForward {
  method: string;
  /** Path with query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON body, if there was one. */
  body: unknown;
  requestId: string;
  signal: AbortSignal;
}

export interface ForwardedAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** What of a request another node needs: it authenticates, checks and answers by itself. */
const PASSED_ON = ['x-api-key', 'idempotency-key', 'accept', 'user-agent'];
/** What this node writes by itself, or belongs to the connection between the nodes. */
const OWN = /^(connection|keep-alive|transfer-encoding|content-length|date|x-request-id|access-control-.*)$/;

/**
 * Has another node answer a request of the platform API.
 * @throws {ApiError} 503 when that node is dead or out of reach
 */
export async function forwardApi(
  context: Uses<'keys' | 'nodes' | 'now'>,
  nodeId: string,
  request: ApiForward,
): Promise<ForwardedAnswer> {
  const node = await requireAlive(context, nodeId);
  const { method, url } = request;
  const headers: Record<string, string> = {
    'x-request-id': request.requestId,
    [NODE_HEADER]: proveNode(
      context.keys,
      { from: context.nodes.nodeId, to: nodeId, method, url },
      context.now(),
    ),
  };
  for (const name of PASSED_ON) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  if (request.body !== undefined) headers['content-type'] = 'application/json';
  try {
    const answer = await send(`${node.apiUrl}${url}`, {
      method: method as 'GET',
      headers,
      signal: request.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    const body = Buffer.from(await answer.body.arrayBuffer());
    const kept = Object.entries(answer.headers).filter(
      (entry): entry is [string, string | string[]] => entry[1] !== undefined && !OWN.test(entry[0]),
    );
    return { status: answer.statusCode, headers: Object.fromEntries(kept), body };
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    throw errors.nodeGone(error);
  }
}
