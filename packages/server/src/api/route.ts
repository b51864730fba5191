import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { withEntry } from './audit/audit-trail.js';
import type { Act } from './audit/entry.js';
import { isAudited, madeId, resourceBefore } from './audit/resource.js';
import type { Identity } from './auth/team-store.js';
import { BodyTimer } from './body-timer.js';
import { findProblem, type ParsedQuery, shapeQuery } from './check-request.js';
import type { BaseContext } from './context/context.js';
import { CredentialCheck } from './credential.js';
import { withDeadline } from './deadline.js';
import { errors } from './errors/catalog.js';
import type { AnyHandler } from './handler.js';
import { clientAddressOf, toApiError } from './http.js';
import { idempotent } from './idempotency.js';
import type { ConnectionGuard } from './limits/connections.js';
import { rateLimitHeaders } from './limits/rate-limit.js';
import { logRequest } from './log-request.js';
import type { AnyResult } from './operations.js';
import { type RouteEntry, routerPath, takesFiles } from './route-table.js';
import type { NodeRouting } from './routing.js';
import type { OperationChecks } from './validation.js';

export interface RouteInstall<Context extends BaseContext = BaseContext> {
  route: RouteEntry;
  handler: AnyHandler<Context>;
  context: Context;
  routing: NodeRouting;
  checks: OperationChecks;
  validateResponses: boolean;
  /** Longest that a body may take to arrive, ms. */
  bodyReadMs: number;
  sendFailure(request: FastifyRequest, reply: FastifyReply, error: unknown): void;
  /** Receives connections over which a valid key came. */
  connections?: ConnectionGuard | undefined;
}

/** Puts one operation of the document on the router. */
export function installRoute<Context extends BaseContext>(
  app: FastifyInstance,
  install: RouteInstall<Context>,
): void {
  const { route, context, checks, routing } = install;
  const json = route.bodyTypes.includes('application/json');
  const streams = takesFiles(route);
  const secret = route.path.startsWith('/secrets');
  const timeoutMs = streams ? 2_147_483_647 : context.config.requestTimeoutMs;
  const bodyTimer = new BodyTimer(install);
  const credentials = new CredentialCheck({
    context,
    route,
    connections: install.connections,
  });

  const once = route.idempotent ? idempotent : (_: unknown, answer: () => Promise<AnyResult>) => answer();
  /** Identifiers of the resources that requests made. */
  const made = new WeakMap<FastifyRequest, string>();

  app.route({
    method: route.method,
    url: routerPath(route.path),
    config: { operationId: route.operationId },
    // HEAD is not in the document.
    exposeHeadRoute: false,
    ...(streams ? { bodyLimit: context.config.uploadLimitBytes } : {}),
    onRequest: async (request, reply) => {
      logRequest(
        context.log,
        route,
        { request, reply },
        { identity: () => credentials.identityOf(request), madeId: () => made.get(request) },
      );
      if (secret) reply.header('Cache-Control', 'no-store');
      if (route.deprecated)
        reply.headers(deprecationHeaders(route.rules.successor, request.params as Record<string, string>));
      try {
        await credentials.check(request, reply);
      } finally {
        // Not before the key is known: the database may take its time.
        if (!streams) bodyTimer.start(request, reply);
      }
    },
    // The body is read, or there is none: what follows has limits of its own.
    preValidation: (request, _reply, done) => {
      bodyTimer.stop(request);
      done();
    },
    handler: async (request, reply) => {
      const identity = credentials.identityOf(request);
      const query = shapeQuery(route.parameters, request.query as ParsedQuery);
      const problem = findProblem(route, checks, query, request.body);
      // Texts about secrets are fixed: nothing of the request may come back.
      if (problem !== undefined) throw secret ? errors.invalidSecretsRequest() : errors.validation(problem);
      takeRate(install, identity, request, reply);

      const team = identity?.team;
      if (team !== undefined) context.tracer?.annotate({ 'svc.team.id': team.id });
      const act = actOf(install, identity, request);
      const result = await withDeadline<AnyResult>(reply, timeoutMs, context.signal, (signal) =>
        withEntry<AnyResult>(context.audit, { act, rules: route.rules }, () =>
          once({ context, team, headers: request.headers, body: request.body }, () =>
            routing.answer({ route, request, team, signal }, () =>
              install.handler({
                context,
                team,
                apiKeyId: identity?.apiKeyId,
                params: request.params,
                query,
                body: json || streams ? request.body : undefined,
                headers: request.headers,
                requestId: request.id,
                log: request.log,
                signal,
              }),
            ),
          ),
        ),
      );
      const id = madeId(route.rules, result.body);
      if (id !== undefined) made.set(request, id);
      if (result.headers !== undefined) reply.headers(result.headers);
      if (install.validateResponses) {
        const wrong = checks.response(result.status, reply.getHeaders(), result.body);
        if (wrong !== undefined)
          throw errors.internal(new Error(`${route.operationId} answers wrongly: ${wrong}`));
      }
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

/** Builds the entry of the audit trail for a request. One that another node passed on has its entry there. */
function actOf(
  { route, routing }: Pick<RouteInstall, 'route' | 'routing'>,
  identity: Identity | undefined,
  request: FastifyRequest,
): Act | undefined {
  if (identity === undefined || !isAudited(route) || routing.comesFromNode(request.raw)) return undefined;
  return {
    // For a team the operator acts by the dashboard alone.
    actor: identity.operator
      ? { kind: 'operator', via: 'dashboard' }
      : { kind: 'key', apiKeyId: identity.apiKeyId },
    operation: route.operationId,
    resource: resourceBefore(route, request.params, request.body),
    teamId: identity.team.id,
    requestId: request.id,
    clientAddress: clientAddressOf(request.raw),
  };
}

/** Counts a request against its team's limit. One that another node passed on was counted there. @throws {ApiError} 429 */
function takeRate(
  { route, context, routing }: Pick<RouteInstall, 'route' | 'context' | 'routing'>,
  identity: Identity | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (!route.secured || identity === undefined || identity.operator) return;
  if (routing.comesFromNode(request.raw)) return;
  const verdict = context.rates.take(route.rules.rateGroup ?? 'general', identity.team.id);
  if (verdict === undefined) return;
  reply.headers(rateLimitHeaders(verdict));
  if (!verdict.allowed) throw errors.rateLimited(verdict.retryAfterSeconds);
}

/** In tests, a failure that the document does not list for the operation becomes a 500 that says so. */
function checkedFailure(
  install: Pick<RouteInstall, 'context' | 'route' | 'validateResponses'>,
  error: unknown,
): unknown {
  if (!install.validateResponses) return error;
  const { status } = toApiError(error, install.context.config.bodyLimitBytes);
  if (install.route.operation.responses[String(status)] !== undefined) return error;
  return errors.undocumented(install.route.operationId, status, error);
}

/** Headers of every answer of a deprecated operation (RFC 9745, RFC 8288). @param successor path of the operation to use */
function deprecationHeaders(
  successor: string | undefined,
  params: Record<string, string>,
): Record<string, string> {
  if (successor === undefined) return { Deprecation: 'true' };
  const target = successor.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return { Deprecation: 'true', Link: `<${target}>; rel="successor-version"` };
}
