import type { FastifyInstance } from 'fastify';
import type { ServiceMetrics } from '../api/context/service-metrics.js';
import type { Tracer } from '../api/context/tracer.js';

/** Status of a request whose client left before its answer, as reverse proxies have it. */
const CLIENT_LEFT = 499;

/** Times every request of the API that names an operation. */
export function measureApi(app: FastifyInstance, metrics: ServiceMetrics): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { operationId } = request.routeOptions.config as { operationId?: string };
    // Any path of the world would make a label.
    if (operationId !== undefined) {
      const from = performance.now();
      reply.raw.once('close', () => {
        const status = reply.raw.writableFinished ? reply.raw.statusCode : CLIENT_LEFT;
        metrics.request(operationId, status, (performance.now() - from) / 1000);
      });
    }
    done();
  });
}

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
