import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { discardInput } from './discard-input.js';
import { gzipCompression } from './gzip.js';
import { sendError } from './rest.js';
import { effectiveTimeout } from './timeout-header.js';

/** Largest message of either direction, bytes. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

const JSON_AND_PROTO = {
  unary: 'application/json, application/proto',
  stream: 'application/connect+json, application/connect+proto',
};

export interface ConnectRoutes {
  /** True when the path belongs to a procedure; then the request is answered. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean;
}

/** Serves RPC services over HTTP/1.1. */
export function createConnectRoutes(register: (router: ConnectRouter) => void): ConnectRoutes {
  const router = createConnectRouter({
    grpc: false,
    grpcWeb: false,
    requireConnectProtocolHeader: true,
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
    // Requests may come compressed. Answers stay plain: programs' output is not worth the processor time.
    acceptCompression: [gzipCompression],
    compressMinBytes: 0xffffffff,
  });
  register(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return {
    handle(request, response, path) {
      const handler = handlers.get(path);
      if (!handler) return false;
      if (request.method !== 'POST') {
        sendError(response, 405, `method ${request.method} not allowed`, { Allow: 'POST' });
        return true;
      }
      const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
      const accepted = handler.method.methodKind === 'unary' ? JSON_AND_PROTO.unary : JSON_AND_PROTO.stream;
      if (!accepted.split(', ').includes(type)) {
        sendError(response, 415, `content type ${JSON.stringify(type)} not supported`, {
          'Accept-Post': accepted,
        });
        return true;
      }
      const timeout = effectiveTimeout(header(request, 'connect-timeout-ms'));
      if (timeout === undefined) delete request.headers['connect-timeout-ms'];
      // A rejection here means that the caller left: a handler's own failures are part of its answer.
      serve(handler, request, response).catch(() => response.destroy());
      return true;
    },
  };
}

async function serve(
  handler: UniversalHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const call = universalRequestFromNodeRequest(request, response, undefined, undefined);
  // Its own iterator would destroy a request that is not read to its end, and with it the way to read the rest.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  const answer = await handler({ ...call, body });
  // A call may end before its input does. The library's own promise does not settle at the end of the answer.
  response.once('finish', () => discardInput(request));
  await universalResponseToNodeResponse(answer, response);
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
