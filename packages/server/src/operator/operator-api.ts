import type { IncomingMessage, ServerResponse } from 'node:http';
import { withEntry } from '../api/audit/audit-trail.js';
import type { Act } from '../api/audit/entry.js';
import { isAudited, resourceBefore } from '../api/audit/resource.js';
import { findProblem, nulProblem } from '../api/check-request.js';
import { readOperatorDocument } from '../api/document.js';
import { errors } from '../api/errors/catalog.js';
import { clientAddressOf, requestId, toApiError } from '../api/http.js';
import type { AnyResult, OperatorOperationId } from '../api/operations.js';
import { allowedMethods, matchRoute, operatorRoutes, type RouteEntry } from '../api/route-table.js';
import { createValidation } from '../api/validation.js';
import type { Uses } from '../cluster/context.js';
import { findTeam } from '../teams/records.js';
import { type OperatorPorts, operatorHandlers } from './handlers.js';
import { carriesToken } from './operator-token.js';

const BODY_LIMIT_BYTES = 65_536;

type Handler = (request: {
  context: OperatorPorts;
  params: unknown;
  query: unknown;
  body: unknown;
}) => Promise<AnyResult>;

/** Everything that is made from the document, at the first request: most servers never get one. */
interface Table {
  routes: RouteEntry<OperatorOperationId>[];
  checksOf: ReturnType<typeof createValidation>;
}

/** A session of the dashboard: needs no token, and may do less. */
export interface OperatorSession {
  /** Path with query, as the document names it. */
  url: string;
}

/** Answers one request; without a session it has to carry the token. */
export type OperatorApi = (
  req: IncomingMessage,
  res: ServerResponse,
  session?: OperatorSession,
) => Promise<void>;

/**
 * Answers the operations of `spec/operator.yaml`. Every path but those of the document is answered alike, without and with
 * the token; the token is asked for before anything of the request is read.
 */
export function createOperatorApi(options: {
  context: OperatorPorts & Uses<'draining'>;
  token: string;
  /** For tests: whether answers are checked against the document. */
  validateResponses: boolean;
}): OperatorApi {
  const { context, token, validateResponses } = options;
  let made: Table | undefined;
  const table = (): Table => {
    if (made === undefined) {
      const document = readOperatorDocument();
      made = { routes: operatorRoutes(document), checksOf: createValidation(document) };
    }
    return made;
  };

  const answer = async (
    req: IncomingMessage,
    id: string,
    session: OperatorSession | undefined,
    about: { operationId?: string },
  ): Promise<AnyResult> => {
    const [pathname = '', search = ''] = (session?.url ?? req.url ?? '').split('?', 2);
    if (session === undefined && !carriesToken(req.headers.authorization, token))
      throw errors.operatorCredential();
    const { routes, checksOf } = table();
    const found = matchRoute(routes, req.method ?? '', pathname);
    if (found === undefined) {
      const methods = allowedMethods(routes, pathname);
      throw methods.length > 0 ? errors.methodNotAllowed(methods) : errors.notFound();
    }
    const { route, params } = found;
    about.operationId = route.operationId;
    const { dashboard } = route.rules;
    if (session !== undefined && dashboard === undefined) throw errors.dashboardOperation();
    if (context.draining()) throw errors.shuttingDown();
    const checks = checksOf(route);
    const query = Object.fromEntries(new URLSearchParams(search));
    const body = route.bodyTypes.length > 0 ? await readJson(req) : undefined;
    const problem = findProblem(route, checks, query, body) ?? nulProblem(params, 'path');
    if (problem !== undefined) throw errors.validation(problem);
    if (session !== undefined && Array.isArray(dashboard))
      for (const name of Object.keys(body as object))
        if (!dashboard.includes(name)) throw errors.dashboardOperation();
    const handler = operatorHandlers[route.operationId] as Handler;
    const act = await actOf(context, route, { req, id, params, body, session });
    const result = await withEntry(context.audit, { act, rules: route.rules }, () =>
      handler({ context, params, query, body }),
    );
    const wrong = validateResponses
      ? checks.response(result.status, lowerCase(result.headers), result.body)
      : undefined;
    if (wrong !== undefined) throw errors.undocumented(route.operationId, result.status, wrong);
    return result;
  };

  return async (req, res, session) => {
    const from = performance.now();
    const clientAddress = clientAddressOf(req);
    const id = requestId(req);
    const about: { operationId?: string } = {};
    let result: AnyResult;
    try {
      result = await answer(req, id, session, about);
    } catch (thrown) {
      const error = toApiError(thrown, BODY_LIMIT_BYTES);
      if (error.status >= 500)
        context.log.error({ err: error.cause ?? thrown }, 'an operator request failed');
      result = { status: error.status, headers: error.headers, body: error.toRecord() };
    }
    const text = result.body === undefined ? '' : JSON.stringify(result.body);
    const type = text === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
    // A body that was not read to its end would be taken for the next request.
    const connection: Record<string, string> = req.complete ? {} : { Connection: 'close' };
    const fixed = { 'X-Request-Id': id, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
    res.writeHead(result.status, { ...type, ...fixed, ...connection, ...result.headers });
    res.end(text);
    const durationMs = Math.round((performance.now() - from) * 10) / 10;
    const { status } = result;
    // Few know of this port: who tries its token is worth a line.
    context.log.info(
      { requestId: id, operationId: about.operationId, status, durationMs, clientAddress },
      'operator request',
    );
  };
}

/** Builds the entry of the audit trail for a request of the operator. */
async function actOf(
  context: OperatorPorts,
  route: RouteEntry<OperatorOperationId>,
  request: {
    req: IncomingMessage;
    id: string;
    params: Record<string, string>;
    body: unknown;
    session: OperatorSession | undefined;
  },
): Promise<Act | undefined> {
  if (!isAudited(route)) return undefined;
  const { req, id, params, body, session } = request;
  return {
    actor: session === undefined ? { kind: 'operator' } : { kind: 'operator', via: 'dashboard' },
    operation: route.operationId,
    resource: resourceBefore(route, params, body),
    teamId: await teamOf(context, params),
    requestId: id,
    clientAddress: clientAddressOf(req),
  };
}

/** Finds the team that a path is about. @throws {ApiError} 404 when there is none */
async function teamOf(context: OperatorPorts, params: Record<string, string>): Promise<string | undefined> {
  const { team, apiKeyID } = params;
  if (team !== undefined) return (await findTeam(context, team)).id;
  if (apiKeyID === undefined) return undefined;
  const key = await context.db
    .selectFrom('api_keys')
    .select('team_id')
    .where('id', '=', apiKeyID.toLowerCase())
    .executeTakeFirst();
  return key?.team_id;
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT_BYTES) throw errors.bodyTooLarge(BODY_LIMIT_BYTES);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw errors.validation('the body is not valid JSON');
  }
}

function lowerCase(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
