import type { FastifyReply, FastifyRequest } from 'fastify';

/** What of a refused body is still read, so that its client gets to see the answer. */
const MAX_DRAIN_BYTES = 1_048_576;

/** Ends the connection after the answer when the rest of the request's body is too much to be read for nothing. */
export function closeUnread(request: FastifyRequest, reply: FastifyReply): void {
  const announced = request.headers['content-length'];
  const endless = announced === undefined && request.headers['transfer-encoding'] !== undefined;
  if (endless || Number(announced ?? 0) > MAX_DRAIN_BYTES) reply.header('Connection', 'close');
}
