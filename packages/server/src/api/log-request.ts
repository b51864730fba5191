import type { FastifyReply, FastifyRequest } from 'fastify';
import { resourceBefore } from './audit/resource.js';
import type { Identity } from './auth/team-store.js';
import type { Log } from './context/context.js';
import { clientAddressOf } from './http.js';
import type { RouteEntry } from './route-table.js';

/** Status of a request whose client left before its answer, as reverse proxies have it. */
const CLIENT_LEFT = 499;

/**
 * Writes one line about a request once it is over: at level `info`; at `warn` when the server failed; at `debug` when it is a probe
 * or came without a valid credential, as any client could fill the log with those. It has identifiers alone.
 * @param about asked when it is over
 */
export function logRequest(
  log: Log,
  route: Pick<RouteEntry, 'operationId' | 'path' | 'rules' | 'secured'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  about: { identity(): Identity | undefined; madeId(): string | undefined },
): void {
  const from = performance.now();
  const clientAddress = clientAddressOf(request.raw);
  reply.raw.once('close', () => {
    const status = reply.raw.writableFinished ? reply.raw.statusCode : CLIENT_LEFT;
    const identity = about.identity();
    const { operationId, rules, secured } = route;
    const resource = resourceBefore(route, request.params, request.body);
    const fields = {
      requestId: request.id,
      operationId,
      status,
      durationMs: Math.round((performance.now() - from) * 10) / 10,
      teamId: identity?.team.id,
      apiKeyId: identity?.apiKeyId,
      resourceKind: resource?.kind,
      resourceId: about.madeId() ?? resource?.id,
      clientAddress,
    };
    log[levelOf(status, rules.probe === true || (secured && identity === undefined))](fields, 'request');
  });
}

function levelOf(status: number, quiet: boolean): 'debug' | 'info' | 'warn' {
  if (status >= 500) return 'warn';
  return quiet ? 'debug' : 'info';
}
