import { createConnectRouter, createContextValues } from '@connectrpc/connect';
import {
  universalServerRequestFromFetch,
  universalServerResponseToFetch,
} from '@connectrpc/connect/protocol';
import { Filesystem, Process } from '@svc/daemon';
import { DaemonRefusal } from './file-routes.js';
import { filesystemService } from './filesystem-service.js';
import { lifeHeader, processService } from './process-service.js';
import { type DaemonScope, scopeKey } from './scope.js';

/** Largest message of either direction, bytes. */
const messageBytes = 64 * 1024 * 1024;

const router = createConnectRouter({
  grpc: false,
  grpcWeb: false,
  requireConnectProtocolHeader: true,
  readMaxBytes: messageBytes,
  writeMaxBytes: messageBytes,
})
  .service(Process, processService)
  .service(Filesystem, filesystemService);
const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

/** Answers an RPC; undefined when the path is none. @throws DaemonRefusal 405, 415 */
export async function answerRpc(
  request: Request,
  url: URL,
  scope: DaemonScope,
): Promise<Response | undefined> {
  const handler = handlers.get(url.pathname);
  if (!handler) return undefined;
  if (request.method !== 'POST')
    throw new DaemonRefusal(405, `method ${request.method} not allowed`, { Allow: 'POST' });
  const type = (request.headers.get('Content-Type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const family = handler.method.methodKind === 'unary' ? 'application/' : 'application/connect+';
  if (type !== `${family}json` && type !== `${family}proto`)
    throw new DaemonRefusal(415, `content type ${JSON.stringify(type)} not supported`, {
      'Accept-Post': `${family}json, ${family}proto`,
    });
  const header = new Headers(request.headers);
  header.delete(lifeHeader);
  const limit = header.get('Connect-Timeout-Ms');
  // A text that is no number is left for the library to refuse.
  if (limit !== null && /^\d{1,10}$/.test(limit)) {
    header.delete('Connect-Timeout-Ms');
    if (Number(limit) > 0) header.set(lifeHeader, limit);
  }
  const contextValues = createContextValues().set(scopeKey, scope);
  const call = universalServerRequestFromFetch(request, {});
  return universalServerResponseToFetch(
    await handler({ ...call, header, signal: scope.signal, contextValues }),
  );
}
