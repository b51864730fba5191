import { DriverError, requireObject } from '@svc/runtime';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { closeUnread } from '../http/close-unread.js';
import { toApiError } from '../http/error-reply.js';
import type { NodeForwarder } from '../nodes/forwarder.js';
import type { StartPorts } from '../sandboxes/ports.js';
import { takeSandbox } from './take-sandbox.js';

type Request = FastifyRequest<{ Params: { kind: string; id: string }; Querystring: { offset?: string } }>;

/**
 * What nodes ask of each other under `/node`, and nobody else can: who does not show the token of a node for the very request
 * finds nothing there.
 */
export function registerNodeCalls(
  app: FastifyInstance,
  context: StartPorts & Uses<'copies'>,
  forwarder: Pick<NodeForwarder, 'comesFromNode'>,
): void {
  app.register(
    async (routes) => {
      routes.removeAllContentTypeParsers();
      routes.addHook('onRequest', async (request, reply) => {
        if (forwarder.comesFromNode(request.raw)) return;
        closeUnread(request, reply);
        throw errors.notFound();
      });
      routes.setErrorHandler((error, request, reply) => sendError(request, reply, error));
      const transfers = () => {
        if (context.driver.transfers === undefined)
          throw new DriverError('not_found', 'What this server stores cannot leave it.');
        return context.driver.transfers;
      };
      routes.get('/objects/:kind/:id/description', (request: Request) =>
        transfers().describe(requireObject(request.params)),
      );
      routes.get('/objects/:kind/:id', async (request: Request, reply) => {
        const { offset = '0' } = request.query;
        if (!/^\d{1,15}$/.test(offset)) throw errors.badRequest('offset must be a number of bytes');
        const archive = await transfers().export(requireObject(request.params), { offset: Number(offset) });
        reply.raw.once('close', () => archive.destroy());
        return reply.type('application/octet-stream').send(archive);
      });
      routes.post('/sandboxes/:id/take', async (request: Request, reply) => {
        await takeSandbox(context, request.params.id);
        return reply.code(204).send();
      });
    },
    { prefix: '/node' },
  );
}

function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
  const known =
    DriverError.is(thrown) && thrown.code === 'not_found' ? errors.notFound() : toApiError(thrown, 0);
  if (known.status >= 500) request.log.warn({ err: thrown }, 'what another server asked for failed');
  if (reply.raw.headersSent) return void reply.raw.destroy();
  reply.code(known.status).headers(known.headers).type('application/json; charset=utf-8');
  reply.send(JSON.stringify(known.toRecord()));
}
