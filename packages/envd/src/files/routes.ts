import type { IncomingMessage, ServerResponse } from 'node:http';
import { posix } from 'node:path';
import type { EnvdContext, OsUser } from '../context.js';
import { linkOwnersOf, ownerOf } from '../filesystem/index.js';
import { requestUser } from '../http/request-user.js';
import { sendError, sendJson } from '../http/rest.js';
import { resolvePath } from '../paths/index.js';
import { composeFiles } from './compose.js';
import { readComposeRequest } from './compose-request.js';
import { HttpFailure, toHttpFailure } from './http-failure.js';
import { sendFile } from './read-file.js';
import { checkFileAccess } from './signature.js';
import { receiveUpload, type WrittenFile } from './upload.js';

export interface FileRoutes {
  /** True when the path is one of these routes; then the request is answered. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean;
}

type Route = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => Promise<void>;

/**
 * GET, HEAD and POST /files, POST /files/compose. /files checks token or signature itself; compose leaves the token to
 * whoever calls.
 */
export function createFileRoutes(context: EnvdContext): FileRoutes {
  async function read(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    const path = query.get('path') ?? '';
    checkAccess(context, 'read', request, query);
    const user = await chosenUser(context, request, query.get('username'));
    const target = resolverFor(context, user)(path);
    try {
      await sendFile(target, await linkOwnersOf(context, user), request, response);
    } catch (error) {
      throw toHttpFailure(error, target);
    }
  }

  async function write(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    checkAccess(context, 'write', request, query);
    const user = await chosenUser(context, request, query.get('username'));
    const written = await receiveUpload({
      request,
      path: query.get('path') || undefined,
      resolve: resolverFor(context, user),
      owner: ownerOf(context, user),
      linkOwners: await linkOwnersOf(context, user),
    });
    sendJson(response, 200, written);
  }

  async function compose(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sources, destination, username } = await readComposeRequest(request);
    const user = await chosenUser(context, request, username);
    const resolve = resolverFor(context, user);
    const target = resolve(destination);
    await composeFiles({
      sources: sources.map(resolve),
      destination: target,
      owner: ownerOf(context, user),
      linkOwners: await linkOwnersOf(context, user),
    });
    const file: WrittenFile = { path: target, name: posix.basename(target), type: 'file' };
    sendJson(response, 200, file);
  }

  const routes: Record<string, Record<string, Route>> = {
    '/files': { GET: read, HEAD: read, POST: write },
    '/files/compose': { POST: compose },
  };
  return {
    handle(request, response, path) {
      const methods = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (!methods) return false;
      const route = methods[request.method ?? ''];
      if (route) void answer(route, request, response);
      else {
        const allow = Object.keys(methods).join(', ');
        sendError(response, 405, `method ${request.method} not allowed`, { Allow: allow });
      }
      return true;
    },
  };
}

async function answer(route: Route, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const start = request.url?.indexOf('?') ?? -1;
    await route(request, response, new URLSearchParams(start === -1 ? '' : request.url!.slice(start + 1)));
  } catch (error) {
    if (response.headersSent || response.destroyed) {
      // Too late for a status: the client must see that something is missing.
      response.destroy();
      return;
    }
    const { status, message, headers } = toHttpFailure(error);
    // The rest of a refused upload is read and dropped, or the client might never come to see the answer.
    request.resume();
    sendError(response, status, message, headers);
  }
}

function checkAccess(
  context: EnvdContext,
  operation: 'read' | 'write',
  request: IncomingMessage,
  query: URLSearchParams,
): void {
  const header = request.headers['x-access-token'];
  const tokenHeader = Array.isArray(header) ? header.join(', ') : header;
  checkFileAccess(context.token, { operation, tokenHeader, query, now: context.now() });
}

/** The user of the query or body, else of Basic auth, else the default one. @throws HttpFailure 401 */
async function chosenUser(
  context: EnvdContext,
  request: IncomingMessage,
  name: string | null | undefined,
): Promise<OsUser> {
  if (!name) return requestUser(context, request.headers.authorization);
  const user = await context.users.find(name);
  if (!user) throw new HttpFailure(401, `unknown user ${JSON.stringify(name)}`);
  return user;
}

function resolverFor(context: EnvdContext, user: OsUser): (path: string) => string {
  return (path) => resolvePath(path, { home: user.home, workdir: context.defaults.workdir });
}
