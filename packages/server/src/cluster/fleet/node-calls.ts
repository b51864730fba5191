import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { DriverError, requireObject } from '@svc/runtime/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors } from '../../api/errors/catalog.js';
import { closeUnread, toApiError } from '../../api/http.js';
import { abortForks } from '../../sandboxes/change/abort-forks.js';
import { filesArchive } from '../../storage/builds/paths.js';
import type { Uses } from '../context.js';
import type { NodeForwarder } from '../nodes/forwarder.js';
import { readForkCall, readSandboxIds } from './fork-call.js';
import { takeBuild } from './take-build.js';
import { takeForks } from './take-forks.js';
import { type TakePorts, takeSandbox } from './take-sandbox.js';

type FilesRequest = FastifyRequest<{ Params: { templateID: string; hash: string } }>;
type Request = FastifyRequest<{
  Params: { kind: string; id: string };
  Querystring: { offset?: string; ids?: string; stays?: string; version?: string };
}>;

/**
 * Registers the calls between nodes under `/node`. A client that does not show the token of a node for the very request
 * finds nothing there.
 */
export function registerNodeCalls(
  app: FastifyInstance,
  context: TakePorts & Uses<'retries' | 'teams'>,
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
      routes.get('/files/:templateID/:hash', async (request: FilesRequest, reply) => {
        const { templateID, hash } = request.params;
        if (!/^[a-z0-9]{1,40}$/.test(templateID) || !/^[0-9a-f]{64}$/.test(hash)) throw errors.notFound();
        const archive = filesArchive(context.config, templateID, hash);
        const size = await stat(archive).then(
          (found) => found.size,
          () => undefined,
        );
        if (size === undefined) throw errors.notFound();
        return reply
          .header('content-length', size)
          .type('application/octet-stream')
          .send(createReadStream(archive));
      });
      routes.post('/sandboxes/:id/take', async (request: Request, reply) => {
        const { stays, version } = request.query;
        if (version !== undefined && !/^\d{1,15}$/.test(version))
          throw errors.badRequest('version must be a number');
        await takeSandbox(context, request.params.id, {
          stays: stays === '1',
          version: version === undefined ? undefined : Number(version),
        });
        return reply.code(204).send();
      });
      routes.post('/builds/:id/take', async (request: Request, reply) => {
        await takeBuild(context, request.params.id);
        return reply.code(204).send();
      });
      routes.post('/forks/end', async (request: Request, reply) => {
        await abortForks(context, readSandboxIds(request.query.ids));
        return reply.code(204).send();
      });
      routes.post('/forks/:id', async (request: Request, reply) => {
        const call = readForkCall(request.params.id, request.query);
        const asker = new AbortController();
        reply.raw.once('close', () => {
          if (!reply.raw.writableFinished) asker.abort(new Error('the node that asked for forks left'));
        });
        return takeForks(context, call, asker.signal);
      });
    },
    { prefix: '/node' },
  );
}

function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
  const known =
    DriverError.is(thrown) && thrown.code === 'not_found' ? errors.notFound() : toApiError(thrown, 0);
  if (known.status >= 500) request.log.warn({ err: thrown }, 'a call of another server failed');
  if (reply.raw.headersSent) return void reply.raw.destroy();
  reply.code(known.status).headers(known.headers).type('application/json; charset=utf-8');
  reply.send(JSON.stringify(known.toRecord()));
}
