import type { FastifyInstance } from 'fastify';

/** Hands bodies on as streams, of whatever type they claim to be: for routes whose body is a file. */
export function handOnBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}
