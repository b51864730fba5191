import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { assertComplete } from './completeness.js';
import type { BaseContext } from './context/context.js';
import { readPlatformDocument } from './document.js';
import { errors } from './errors/catalog.js';
import type { AnyHandler, Handlers } from './handler.js';
import { closeUnread, handOnBodies, requestId, toApiError } from './http.js';
import type { ConnectionGuard } from './limits/connections.js';
import { readJsonText } from './read-json.js';
import { installRoute } from './route.js';
import { allowedMethods, isRemoved, platformRoutes, takesFiles } from './route-table.js';
import type { NodeRouting } from './routing.js';
import { createValidation } from './validation.js';

interface ApiOptions<Context extends BaseContext> {
  context: Context;
  handlers: Handlers<Context>;
  routing: NodeRouting;
  /** Checks every answer against the document; one that does not fit becomes a 500 that says so. For tests. */
  validateResponses?: boolean;
  /** Longest that a JSON body may take to arrive, ms. Default 10 000. */
  bodyReadMs?: number;
  /** True while the server drains: requests get 503. */
  draining?: () => boolean;
  /** Adds hooks that run before all others. */
  beforeRoutes?: (app: FastifyInstance) => void;
  /** Adds what stands beside the platform API on the same port. */
  routesBeside?: (app: FastifyInstance) => void;
  /** Receives connections over which a valid key came. */
  connections?: ConnectionGuard;
  /** The certificate for clients that connect by TLS; absent: it speaks plain HTTP. */
  certificates?: { readonly options: SecureContextOptions } | undefined;
}

/**
 * The platform API as an HTTP application, not listening yet.
 * Order: CORS, route (404, 405), credential, request against the document, rate limit, handler.
 */
export function createApi<Context extends BaseContext>(options: ApiOptions<Context>): FastifyInstance {
  const { context, connections } = options;
  const document = readPlatformDocument();
  const routes = platformRoutes(document);
  assertComplete(routes, options.handlers);
  const checksOf = createValidation(document);

  const listener = { headersTimeout: HEAD_READ_MS, connectionsCheckingInterval: 1_000 };
  const app = fastify({
    loggerInstance: context.log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: context.config.bodyLimitBytes,
    keepAliveTimeout: 620_000,
    // Time for a whole request is bounded per route: uploads may take long, JSON bodies may not.
    requestTimeout: 0,
    ...(options.certificates === undefined
      ? { http: listener }
      : { https: { ...listener, ...options.certificates.options } }),
    return503OnClosing: false,
    clientErrorHandler: answerMalformedRequest,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 2_048, caseSensitive: true, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => {
      beginReply(request, reply);
      sendFailure(request, reply, error);
    },
  }) as unknown as FastifyInstance;

  installBodyParsers(app);
  options.beforeRoutes?.(app);

  app.addHook('onRequest', (request, reply, done) => {
    beginReply(request, reply);
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      reply.code(204).headers(preflightHeaders).send();
      return;
    }
    // Here, because the handler for unknown routes would read the body first.
    if (request.is404) {
      const pathname = request.url.split('?')[0] ?? '';
      const allowed = isRemoved(request.method, pathname) ? [] : allowedMethods(routes, pathname);
      closeUnread(request, reply);
      return done((allowed.length > 0 ? errors.methodNotAllowed(allowed) : errors.notFound()) as Error);
    }
    if (options.draining?.() === true) {
      reply.header('Connection', 'close');
      if (!request.url.startsWith('/health')) return done(errors.shuttingDown() as Error);
    }
    if (options.routing.comesFromNode(request.raw)) {
      connections?.trust(request.raw.socket);
      // The other node knows that this one is not frozen.
      reply.raw.writeProcessing();
    }
    done();
  });
  const sendFailure = (request: FastifyRequest, reply: FastifyReply, thrown: unknown): void => {
    const error = toApiError(thrown, context.config.bodyLimitBytes);
    if (error.status >= 500 && error.cause !== undefined)
      request.log.error({ err: error.cause, status: error.status }, error.message);
    reply.code(error.status).headers(error.headers).type('application/json; charset=utf-8');
    reply.send(JSON.stringify(error.toRecord()));
  };

  app.setErrorHandler((error, request, reply) => sendFailure(request, reply, error));

  for (const route of routes) {
    const install = {
      route,
      handler: options.handlers[route.operationId] as AnyHandler<Context>,
      context,
      routing: options.routing,
      checks: checksOf(route),
      validateResponses: options.validateResponses === true,
      bodyReadMs: options.bodyReadMs ?? 10_000,
      sendFailure,
      connections,
    };
    if (takesFiles(route))
      app.register(async (scope) => {
        handOnBodies(scope);
        installRoute(scope, install);
      });
    else installRoute(app, install);
  }
  options.routesBeside?.(app);
  return app;
}

function beginReply(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(corsHeaders);
  reply.header('X-Request-Id', request.id);
}

/** Installs the parsers of bodies: JSON whole, an empty one as none; everything else is left to the route. */
function installBodyParsers(app: FastifyInstance): void {
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

/** Time for the head of a request to arrive. */
const HEAD_READ_MS = 5_000;

/**
 * Answers what is no HTTP request at all, or does not arrive in time, with the error record, as any other bad request, and ends the connection:
 * where the next request would begin is unknown.
 */
function answerMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client left: an answer has no reader.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const slow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const failure = slow
    ? errors.requestTooSlow(HEAD_READ_MS / 1_000)
    : errors.validation('the request is not well-formed HTTP');
  const body = JSON.stringify(failure.toRecord());
  const headers = {
    ...corsHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${slow ? '408 Request Timeout' : '400 Bad Request'}\r\n${lines.join('')}\r\n${body}`);
}

/** Headers of every answer, so that browsers may read it. */
const corsHeaders: Record<string, string> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'X-Next-Token, X-Total-Running, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Idempotency-Replayed, Deprecation, Link',
};

/** Further headers of the answer to a preflight. */
const preflightHeaders: Record<string, string> = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers':
    'Origin, Content-Length, Content-Type, User-Agent, Authorization, X-API-Key, X-Team-ID, X-Request-Id, Idempotency-Key, browser, lang, lang_version, machine, os, package_version, processor, publisher, release, sdk_runtime, system',
  'Access-Control-Max-Age': '86400',
};
