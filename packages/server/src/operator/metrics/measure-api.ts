import type { FastifyInstance } from 'fastify';
import type { ServiceMetrics } from '../../api/context/service-metrics.js';

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
