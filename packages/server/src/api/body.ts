import type { FastifyInstance } from 'fastify';
import { errors } from './errors/catalog.js';
import { readJsonText } from './read-json.js';

/** How bodies of the other routes are read: JSON whole, an empty one as none; everything else is left to the route. */
export function installBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, payload, done) => {
    readJsonText(payload, request.routeOptions.bodyLimit ?? app.initialConfig.bodyLimit!).then((body) => {
      if (body === '') return done(null, undefined);
      parseJson(request, body, (error, value) => (error ? done(unreadable(request.url)) : done(null, value)));
    }, done);
  });
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/** Texts about secrets are fixed. */
function unreadable(url: string) {
  return url.startsWith('/secrets')
    ? errors.invalidSecretsRequest()
    : errors.validation('the body is not valid JSON');
}
