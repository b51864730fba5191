import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseLostError, DatabaseUnreachableError } from '../storage/database-errors.js';
import { ApiError } from './errors/api-error.js';
import { errors } from './errors/catalog.js';

/** Turns any error of a request into an error of the catalog. */
export function toApiError(error: unknown, bodyLimitBytes: number): ApiError {
  if (ApiError.is(error)) return error;
  if (error instanceof DatabaseUnreachableError) return errors.databaseUnreachable(error);
  if (error instanceof DatabaseLostError) return errors.databaseLost(error);
  const code = (error as { code?: unknown })?.code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return errors.bodyTooLarge(bodyLimitBytes);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return errors.validation('the content type cannot be read');
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')
    return errors.validation('the body has another length than announced');
  if (code === 'FST_ERR_BAD_URL') return errors.validation('the path is not valid');
  const status = (error as { statusCode?: unknown })?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500)
    return errors.validation('the request cannot be read');
  return errors.internal(error);
}

/** Bytes of a refused body that are still read, so that its client gets to see the answer. */
const MAX_DRAIN_BYTES = 1_048_576;

/** Ends the connection after the answer when the rest of the request's body is too much to be read for nothing. */
export function closeUnread(request: FastifyRequest, reply: FastifyReply): void {
  const announced = request.headers['content-length'];
  const endless = announced === undefined && request.headers['transfer-encoding'] !== undefined;
  if (endless || Number(announced ?? 0) > MAX_DRAIN_BYTES) reply.header('Connection', 'close');
}

/**
 * Address that a request's connection came from. Undefined when it is unknown: a connection that has ended, or a request
 * that came by none.
 */
export function clientAddressOf(request: IncomingMessage): string | undefined {
  // Its type says otherwise, but a request may have no socket.
  const socket = request.socket as IncomingMessage['socket'] | null;
  return socket?.remoteAddress;
}

/** Passes bodies of any content type on as streams: for routes whose body is a file. */
export function handOnBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/** The caller's `X-Request-Id` when it is a plain short word, else a new one. It comes back on every answer. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}
