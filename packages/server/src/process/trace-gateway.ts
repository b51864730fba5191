import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Tracer } from '../api/context/tracer.js';
import type { AddressedRequest } from '../gateway/index.js';

/**
 * Makes a request to a sandbox a span: which sandbox and port, and how it ended. Its `traceparent` goes on as it came: between
 * client and sandbox the gateway is no part of the conversation.
 */
export function traceGateway(
  tracer: Tracer,
  req: IncomingMessage,
  res: ServerResponse,
  addressed: AddressedRequest,
  work: () => void,
): void {
  const target = addressed.kind === 'target' ? addressed : undefined;
  const name = target === undefined ? 'gateway.refused' : target.toDaemon ? 'gateway.daemon' : 'gateway.port';
  const attributes = {
    'http.request.method': req.method ?? '',
    ...(target === undefined ? {} : { 'svc.sandbox.id': target.sandboxId, 'svc.sandbox.port': target.port }),
  };
  tracer.requestSpan(req, res, name, attributes, work);
}
