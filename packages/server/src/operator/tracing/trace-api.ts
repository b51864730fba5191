import type { FastifyInstance } from 'fastify';
import type { Tracer } from '../../api/context/tracer.js';

/** Makes each request to the API a span, named after its operation. The first of all hooks. */
export function traceApi(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { operationId } = request.routeOptions.config as { operationId?: string };
    const { sandboxID } = (request.params ?? {}) as { sandboxID?: unknown };
    const attributes = {
      'http.request.method': request.method,
      'svc.request.id': request.id,
      ...(operationId === undefined
        ? {}
        : { 'svc.operation': operationId, 'http.route': request.routeOptions.url ?? '' }),
      ...(typeof sandboxID === 'string' && /^[a-z0-9]{1,32}$/.test(sandboxID)
        ? { 'svc.sandbox.id': sandboxID }
        : {}),
    };
    tracer.requestSpan(request.raw, reply.raw, operationId ?? request.method, attributes, done);
  });
}
