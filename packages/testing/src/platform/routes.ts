import { json, Refusal } from '../answers/refusal.js';
import { bodyProblem, matchOperation, type Operation, readQuery } from '../contract/operations.js';
import type { Handlers } from './handler.js';
import { recordHandlers } from './record-handlers.js';
import { sandboxHandlers } from './sandbox-handlers.js';
import { templateHandlers } from './template-handlers.js';
import type { World } from './world.js';

const handlers: Handlers = { ...sandboxHandlers, ...templateHandlers, ...recordHandlers };

/** Largest JSON body, bytes. */
const largestBody = 16 * 1024 * 1024;
const corsHeaders = { 'Access-Control-Allow-Origin': '*' };
const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization, X-API-Key, X-Request-Id, Idempotency-Key',
  'Access-Control-Max-Age': '86400',
};

/** Order: route, credential, request against the document, handler. Never rejects. */
export async function answerPlatform(
  request: Request,
  url: URL,
  text: string,
  world: World,
): Promise<Response> {
  try {
    if (request.method === 'OPTIONS' && request.headers.has('Access-Control-Request-Method'))
      return new Response(null, { status: 204, headers: { ...corsHeaders, ...preflightHeaders } });
    const match = matchOperation(request.method, url.pathname);
    if (match.kind === 'none') throw new Refusal(404, 'no such route');
    if (match.kind === 'method')
      throw new Refusal(405, `this route answers to ${match.allowed.join(', ')} only`, {
        headers: { Allow: match.allowed.join(', ') },
      });
    const { operation, params } = match;
    if (operation.secured) checkCredential(request.headers, world);
    const query = readQuery(operation, url.searchParams);
    if ('problem' in query) throw invalid(operation, query.problem);
    if (text.length > largestBody)
      throw new Refusal(413, `the request body is larger than ${largestBody} bytes`);
    const body = operation.body && readBody(operation, request.headers, text);
    const handler = handlers[operation.id as keyof Handlers] as
      | ((request: unknown) => Promise<{ status: number; body?: unknown; headers?: Record<string, string> }>)
      | undefined;
    if (!handler) throw notPlayed(operation);
    const answer = await handler({ world, params, query: query.values, body, headers: request.headers });
    return json(answer.status, answer.body, {
      ...corsHeaders,
      ...(url.pathname.startsWith('/secrets') ? { 'Cache-Control': 'no-store' } : {}),
      ...answer.headers,
      'X-Request-Id': `req_${world.id(12)}`,
    });
  } catch (error) {
    if (error instanceof Refusal) return error.toResponse();
    throw error;
  }
}

/** @throws Refusal 401 */
function checkCredential(headers: Headers, world: World): void {
  const key = headers.get('X-API-Key');
  if (key === null || key === '')
    throw new Refusal(401, 'authorization header is missing: send the API key as X-API-Key');
  const hint =
    "the test service takes its own key: give the client 'apiKey: service.apiKey', or use service.client()";
  if (!/^svc_(?:[0-9a-f]{2}){1,128}$/i.test(key)) throw new Refusal(401, `Invalid API key format (${hint})`);
  if (key.toLowerCase() !== world.apiKey)
    throw new Refusal(401, `Invalid API key: no team has this key (${hint})`);
}

/** @throws Refusal 400 */
function readBody(operation: Operation, headers: Headers, text: string): unknown {
  const type = (headers.get('Content-Type') ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (text !== '' && type !== 'application/json')
    throw invalid(operation, 'the body must be application/json');
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw invalid(operation, 'the body is not valid JSON');
  }
  const problem = bodyProblem(operation, body);
  if (problem !== undefined) throw invalid(operation, problem);
  return body;
}

/** Texts about secrets are fixed: nothing of the request may come back. */
function invalid({ path }: Operation, problem: string): Refusal {
  return path.startsWith('/secrets')
    ? new Refusal(400, 'Invalid secrets request')
    : new Refusal(400, `validation error: ${problem}`);
}

function notPlayed({ id, method, path }: Operation): Refusal {
  return new Refusal(
    501,
    `TestService does not play the operation ${id}. Say what it answers: service.on('${method} ${path}', json(200, ...)).`,
  );
}
