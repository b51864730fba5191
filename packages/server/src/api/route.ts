import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authenticate } from '../auth/authenticate.js';
import type { Identity } from '../auth/team-store.js';
import type { ServerContext } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { rateLimitHeaders } from '../limits/rate-limit.js';
import { closeUnread } from './close-unread.js';
import { withDeadline } from './deadline.js';
import { deprecationHeaders } from './deprecation.js';
import { comesFromNode, hereOrElsewhere } from './elsewhere.js';
import { toApiError } from './error-reply.js';
import type { HandlerRequest } from './handler.js';
import { findNul } from './nul.js';
import type { OperationId } from './operations.js';
import { type ParsedQuery, shapeQuery } from './query.js';
import { type RouteEntry, routerPath, takesFiles } from './route-table.js';
import type { OperationChecks } from './validation.js';

/** A handler with its operation's types worn off. */
type AnyHandler = (request: HandlerRequest<OperationId>) => Promise<AnyResult> | AnyResult;

interface AnyResult {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface RouteInstall {
  route: RouteEntry;
  handler: AnyHandler;
  context: ServerContext;
  checks: OperationChecks;
  validateResponses: boolean;
  /** Longest that a body may take to arrive, ms. */
  bodyReadMs: number;
  sendFailure(request: FastifyRequest, reply: FastifyReply, error: unknown): void;
  /** Told of connections over which a valid key came. */
  onCredential?: ((socket: Socket) => void) | undefined;
}

/**
 * A body that takes too long is refused; one that goes on after its answer ends the connection.
 * @returns the timer, which ends with the body.
 */
function boundBodyTime(install: RouteInstall, request: FastifyRequest, reply: FastifyReply): NodeJS.Timeout {
  const timer = setTimeout(() => {
    if (request.raw.complete) return;
    if (reply.sent) {
      request.raw.destroy();
      return;
    }
    reply.raw.once('finish', () => request.raw.destroy());
    install.sendFailure(
      request,
      reply.header('Connection', 'close'),
      errors.requestTooSlow(install.bodyReadMs / 1_000),
    );
  }, install.bodyReadMs);
  request.raw.once('close', () => clearTimeout(timer));
  return timer;
}

/** Puts one operation of the document on the router. */
export function installRoute(app: FastifyInstance, install: RouteInstall): void {
  const { route, context, checks } = install;
  const json = route.bodyTypes.includes('application/json');
  const streams = takesFiles(route);
  const secret = route.path.startsWith('/secrets');
  const identities = new WeakMap<FastifyRequest, Identity>();
  const bodyTimers = new WeakMap<FastifyRequest, NodeJS.Timeout>();

  app.route({
    method: route.method,
    url: routerPath(route.path),
    // HEAD is not in the document.
    exposeHeadRoute: false,
    ...(streams ? { bodyLimit: context.config.uploadLimitBytes } : {}),
    onRequest: async (request, reply) => {
      // Not before the key is known: the database may take its time.
      const boundTime = () => {
        if (!streams) bodyTimers.set(request, boundBodyTime(install, request, reply));
      };
      if (secret) reply.header('Cache-Control', 'no-store');
      if (route.deprecated)
        reply.headers(deprecationHeaders(route.operationId, request.params as Record<string, string>));
      if (route.secured)
        identities.set(
          request,
          await authenticate(context.teams, request.headers['x-api-key'], route.allowedWhenBlocked).catch(
            (error: unknown) => {
              closeUnread(request, reply);
              boundTime();
              throw error;
            },
          ),
        );
      boundTime();
      if (route.secured) install.onCredential?.(request.raw.socket);
    },
    // The body is read, or there is none: what follows has limits of its own.
    preValidation: (request, _reply, done) => {
      clearTimeout(bodyTimers.get(request));
      done();
    },
    handler: async (request, reply) => {
      const started = performance.now();
      const identity = identities.get(request);
      const shaped = shapeQuery(route.parameters, request.query as ParsedQuery);
      const problem = findProblem(route, checks, shaped, request.body, json);
      // Texts about secrets are fixed: nothing of the request may come back.
      if (problem !== undefined) throw secret ? errors.invalidSecretsRequest() : errors.validation(problem);

      if (route.rateGroup !== undefined && identity !== undefined && !comesFromNode(context, request)) {
        const verdict = context.rates.take(route.rateGroup, identity.team.id);
        if (verdict !== undefined) {
          reply.headers(rateLimitHeaders(verdict));
          if (!verdict.allowed) throw errors.rateLimited(verdict.retryAfterSeconds);
        }
      }

      const timeoutMs = streams ? 2_147_483_647 : context.config.requestTimeoutMs;
      const result = await withDeadline(reply, timeoutMs, context.signal, (signal) =>
        hereOrElsewhere(context, route, request, signal, () =>
          install.handler({
            context,
            team: identity?.team as never,
            apiKeyId: identity?.apiKeyId as never,
            params: request.params as never,
            query: shaped as never,
            body: (json || streams ? request.body : undefined) as never,
            headers: request.headers,
            requestId: request.id,
            log: request.log,
            signal,
          }),
        ),
      );
      if ('forwarded' in result) {
        const { status, headers, body } = result.forwarded;
        return reply
          .code(status)
          .headers(headers)
          .send(body.length === 0 ? undefined : body);
      }
      if (result.headers !== undefined) reply.headers(result.headers);
      if (install.validateResponses) {
        const wrong = checks.response(result.status, reply.getHeaders(), result.body);
        if (wrong !== undefined)
          throw errors.internal(new Error(`${route.operationId} answers wrongly: ${wrong}`));
      }
      context.log.debug({
        requestId: request.id,
        operation: route.operationId,
        status: result.status,
        teamId: identity?.team.id,
        durationMs: Math.round((performance.now() - started) * 10) / 10,
      });
      reply.code(result.status);
      if (result.body === undefined) return reply.send();
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(result.body));
    },
    errorHandler: (error, request, reply) => {
      if (request.body instanceof Readable) request.body.resume();
      install.sendFailure(request, reply, checkedFailure(install, error));
    },
  });
}

/** In tests, a failure that the document does not list for the operation becomes a 500 that says so. */
function checkedFailure(install: RouteInstall, error: unknown): unknown {
  if (!install.validateResponses) return error;
  const { status } = toApiError(error, install.context.config.bodyLimitBytes);
  if (install.route.operation.responses[String(status)] !== undefined) return error;
  return errors.undocumented(install.route.operationId, status, error);
}

function findProblem(
  route: RouteEntry,
  checks: OperationChecks,
  query: Record<string, unknown>,
  body: unknown,
  json: boolean,
): string | undefined {
  const queryProblem = checks.query(query);
  if (queryProblem !== undefined) return queryProblem;
  const nul = nulProblem(query, 'query');
  if (!json || nul !== undefined) return nul;
  if (body instanceof Readable) return 'the body must be application/json';
  if (body === undefined) return route.bodyRequired ? 'the body is missing' : undefined;
  return checks.body(body) ?? nulProblem(body, 'body');
}

function nulProblem(value: unknown, place: string): string | undefined {
  const found = findNul(value, place);
  return found === undefined ? undefined : `${found.slice(0, 200)} has a NUL character`;
}
