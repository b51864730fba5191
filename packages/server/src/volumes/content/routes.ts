import type { Readable } from 'node:stream';
import type { UpdateVolumePath, VolumeEntryStat } from '@svc/platform';
import type { VolumeContent, VolumeEntry } from '@svc/runtime/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors } from '../../api/errors/catalog.js';
import { closeUnread, handOnBodies, toApiError } from '../../api/http.js';
import type { ConnectionGuard } from '../../api/limits/connections.js';
import { parseBoundedJson } from '../../api/wire/bounded-json.js';
import type { Uses } from '../../cluster/context.js';
import { volumeHome } from '../../cluster/fleet/volume-home.js';
import type { NodeForwarder } from '../../cluster/nodes/forwarder.js';
import { verifyVolumeToken } from '../token.js';
import { fromApiError, fromVolumeError, volumeErrors } from './error.js';
import { readChange, readCreateQuery, readDepth, readPath } from './query.js';

/** A change of an entry has a few fields. */
const MAX_JSON_BYTES = 64 * 1024;

type Request = FastifyRequest<{ Params: { volumeID: string }; Querystring: Record<string, unknown> }>;

/**
 * The volume content API (`spec/volumes.yaml`) under `/volumecontent`. It has its own credential, its own error record,
 * and bodies of any size, so it stands beside the platform API and shares only the listener.
 */
export function registerVolumeContent(
  app: FastifyInstance,
  context: Uses<'config' | 'db' | 'driver' | 'ids' | 'keys' | 'nodes' | 'now' | 'volumes'>,
  forwarder: Pick<NodeForwarder, 'comesFromNode' | 'request'>,
  connections: Pick<ConnectionGuard, 'trust'>,
): void {
  app.register(
    async (routes) => {
      routes.removeAllContentTypeParsers();
      // Nothing is read for somebody without a token.
      routes.addHook('onRequest', async (request, reply) => {
        const claims = await claimsOf(context, request);
        if (claims === undefined) {
          closeUnread(request, reply);
          throw volumeErrors.unauthorized();
        }
        connections.trust(request.raw.socket);
        // The files are on one node. What comes from there is not sent back.
        const home = await volumeHome(context, claims.volumeId);
        if (home.kind === 'here') return;
        if (home.kind === 'unreachable' || forwarder.comesFromNode(request.raw)) {
          closeUnread(request, reply);
          throw errors.nodeUnreachable();
        }
        reply.hijack();
        forwarder.request(home.node, request.raw, reply.raw, false, home.node.apiUrl);
      });
      const small = { parseAs: 'buffer' as const, bodyLimit: MAX_JSON_BYTES };
      routes.addContentTypeParser<Buffer>('application/json', small, (_request, body, done) => {
        try {
          done(null, parseBoundedJson(body, { maxDepth: 8, maxValues: 100 }));
        } catch {
          done(volumeErrors.invalidRequest('the body is not JSON'));
        }
      });
      routes.addContentTypeParser('*', (_request, _payload, done) => done(null));
      routes.setErrorHandler((error, request, reply) => sendError(request as Request, reply, error));

      routes.get('/:volumeID/path', async (request: Request) =>
        entryToWire(await (await contentOf(context, request)).stat(readPath(request.query))),
      );
      routes.patch('/:volumeID/path', async (request: Request) => {
        const change = readChange(request.body as UpdateVolumePath);
        return entryToWire(await (await contentOf(context, request)).change(readPath(request.query), change));
      });
      routes.delete('/:volumeID/path', async (request: Request, reply) => {
        await (await contentOf(context, request)).remove(readPath(request.query));
        return reply.code(204).send();
      });
      routes.get('/:volumeID/dir', async (request: Request) => {
        const content = await contentOf(context, request);
        const entries = await content.list(readPath(request.query), readDepth(request.query));
        return entries.map(entryToWire);
      });
      routes.post('/:volumeID/dir', async (request: Request, reply) => {
        const options = readCreateQuery(request.query);
        reply.code(201);
        const content = await contentOf(context, request);
        return entryToWire(await content.makeDirectory(readPath(request.query), options));
      });
      routes.get('/:volumeID/file', async (request: Request, reply) => {
        const { sizeBytes, content } = await (await contentOf(context, request)).read(
          readPath(request.query),
        );
        reply.type('application/octet-stream').header('Content-Length', sizeBytes);
        if (sizeBytes > 0) return reply.send(content);
        content.destroy();
        return reply.send('');
      });
      routes.register(async (files) => {
        // The body is the file's content, with any content type.
        handOnBodies(files);
        files.put(
          '/:volumeID/file',
          { bodyLimit: Number.MAX_SAFE_INTEGER },
          async (request: Request, reply) => {
            const options = readCreateQuery(request.query);
            const content = await contentOf(context, request);
            reply.code(201);
            return entryToWire(
              await content.write(readPath(request.query), request.raw as Readable, options),
            );
          },
        );
      });
    },
    { prefix: '/volumecontent' },
  );
}

/** Returns the grant of the request's token; undefined when there is none that is valid. */
async function claimsOf(context: Uses<'config' | 'ids' | 'keys' | 'nodes' | 'now'>, request: FastifyRequest) {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return token === undefined ? undefined : verifyVolumeToken(context, token);
}

/** The files of the volume that the token grants. */
async function contentOf(
  context: Uses<'config' | 'db' | 'ids' | 'keys' | 'nodes' | 'now' | 'volumes'>,
  request: Request,
): Promise<VolumeContent> {
  const claims = await claimsOf(context, request);
  if (claims === undefined) throw volumeErrors.unauthorized();
  if (claims.volumeId !== request.params.volumeID.toLowerCase()) throw volumeErrors.forbidden();
  const volume = await context.db
    .selectFrom('volumes')
    .innerJoin('teams', 'teams.id', 'volumes.team_id')
    .select('teams.banned')
    .where('volumes.id', '=', claims.volumeId)
    .where('volumes.team_id', '=', claims.teamId)
    .executeTakeFirst();
  if (volume === undefined) throw volumeErrors.volumeNotFound();
  if (volume.banned !== 0) throw volumeErrors.forbidden('team is banned');
  return context.volumes.content(claims.volumeId);
}

function sendError(request: Request, reply: FastifyReply, thrown: unknown): void {
  // Failures that any part of the server may meet: a stop, an unreachable database, a body that cannot be read.
  const common = toApiError(thrown, MAX_JSON_BYTES);
  const known = common.status === 500 ? fromVolumeError(thrown) : fromApiError(common);
  reply.headers(common.headers);
  if (known.status === 500) request.log.error({ err: thrown }, 'volume content request failed');
  if (reply.raw.headersSent) return void reply.raw.destroy();
  reply.code(known.status).type('application/json; charset=utf-8');
  reply.send(JSON.stringify({ code: known.code, message: known.message }));
}

function entryToWire({ atimeMs, mtimeMs, ctimeMs, target, ...entry }: VolumeEntry): VolumeEntryStat {
  return {
    ...entry,
    atime: new Date(atimeMs).toISOString(),
    mtime: new Date(mtimeMs).toISOString(),
    ctime: new Date(ctimeMs).toISOString(),
    ...(target === undefined ? {} : { target }),
  };
}
