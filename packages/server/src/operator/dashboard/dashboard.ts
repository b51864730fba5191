import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { json, text } from 'node:stream/consumers';
import { issueActingCredential } from '../../api/auth/acting-credential.js';
import { readPlatformDocument } from '../../api/document.js';
import { errors } from '../../api/errors/catalog.js';
import { toApiError } from '../../api/http.js';
import { matchRoute, platformRoutes } from '../../api/route-table.js';
import type { Uses } from '../../cluster/context.js';
import { accessToken } from '../../sandboxes/state/sandbox-tokens.js';
import { findTeam } from '../../teams/records.js';
import type { OperatorApi } from '../operator-api.js';
import { carriesToken } from '../operator-token.js';
import { pageFiles } from './files.js';
import { pageHeaders, passedHeaders } from './page-headers.js';
import { passOn, relay, sentHeaders, shownHeaders } from './pass-on.js';
import { type DashboardSessions, readSessionCookie, sessionCookie } from './sessions.js';

/** Port of the daemon in every sandbox. The others speak for programs, which this address must not. */
const DAEMON_PORT = '49983';

/** Longest body of a sign-in, bytes. */
const SIGN_IN_LIMIT = 4_096;

/** Header that carries the proof of a session. Pages of other addresses cannot send it. Lower case. */
export const PROOF_HEADER = 'svc-dashboard';

export interface DashboardOptions {
  context: Uses<'db' | 'draining' | 'keys' | 'log' | 'now'>;
  sessions: DashboardSessions;
  token: string;
  operatorApi: OperatorApi;
  /** The platform API and the gateway of this process. */
  api: Server;
  gateway: Server;
  /** Receives connections over which a valid session came. */
  onTrusted?: (req: IncomingMessage) => void;
}

type Answer = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * Serves the web application under `/dashboard`, and what it needs: signing in, the operator API, and for a team that the operator
 * acts for, the platform API and the daemons of its sandboxes. The browser is given no credential but that of its session.
 */
export function createDashboard(options: DashboardOptions): Answer {
  const { context, sessions, token, operatorApi } = options;
  const fileNamed = pageFiles();
  const toApi = innerClient(options.api);
  const toGateway = innerClient(options.gateway);
  const routes = platformRoutes(readPlatformDocument());

  const showFile = async (req: IncomingMessage, res: ServerResponse, name: string): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD') throw errors.methodNotAllowed(['GET', 'HEAD']);
    const file = await fileNamed(name).catch((cause: unknown) => {
      throw errors.dashboardNotBuilt(cause);
    });
    if (file === undefined) throw errors.notFound();
    const cache = file.immutable ? 'public, max-age=31536000, immutable' : 'no-store';
    res.writeHead(200, { ...pageHeaders, 'Cache-Control': cache, 'Content-Type': file.type });
    res.end(req.method === 'HEAD' ? undefined : file.content);
  };

  const send = (res: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) => {
    const fixed = { ...passedHeaders, 'Content-Type': 'application/json; charset=utf-8' };
    res.writeHead(status, { ...fixed, ...headers });
    res.end(JSON.stringify(body));
  };

  const signIn: Answer = async (req, res) => {
    const given = await readSignIn(req);
    const valid =
      given.code === undefined
        ? carriesToken(`Bearer ${given.token ?? ''}`, token)
        : sessions.redeem(given.code);
    if (!valid) {
      context.log.warn('a sign-in to the dashboard failed');
      throw given.code === undefined ? errors.operatorTokenWrong() : errors.dashboardCode();
    }
    const { id, proof, expiresAtMs } = sessions.open();
    options.onTrusted?.(req);
    context.log.info('the operator signed in to the dashboard');
    const expiresAt = new Date(expiresAtMs).toISOString();
    send(res, 201, { proof, expiresAt }, { 'Set-Cookie': sessionCookie(req, id) });
  };

  /** When the session of a request ends. @throws {ApiError} 401 */
  const sessionOf = (req: IncomingMessage): number => {
    const proof = req.headers[PROOF_HEADER];
    const found = sessions.find(
      readSessionCookie(req.headers.cookie),
      typeof proof === 'string' ? proof : undefined,
    );
    if (found === undefined) throw errors.dashboardSession();
    options.onTrusted?.(req);
    return found;
  };

  const toPlatform = async (req: IncomingMessage, res: ServerResponse, team: string, url: string) => {
    const method = req.method ?? '';
    const found = matchRoute(routes, method, url.split('?', 1)[0] ?? '');
    if (found === undefined) throw errors.notFound();
    const { operationId, rules } = found.route;
    if (rules.dashboard !== true) throw errors.dashboardOperation();
    const { id } = await findTeam(context, team);
    if (method !== 'GET')
      context.log.info({ teamId: id, operation: operationId }, 'the operator acts for a team');
    const credential = issueActingCredential(context.keys, id, { method, url }, context.now());
    const headers = sentHeaders(
      { ...req.headers, authorization: undefined },
      { host: 'localhost', 'x-api-key': credential },
    );
    const answer = await passOn(req, res, () =>
      toApi({ method, path: url, headers, remoteAddress: req.socket.remoteAddress }),
    );
    const body = withoutTokens(await text(answer));
    const shown = shownHeaders(answer.headers);
    delete shown['content-length'];
    res.writeHead(answer.statusCode ?? 502, shown);
    res.end(body);
  };

  const toDaemon = async (req: IncomingMessage, res: ServerResponse, team: string, url: string) => {
    const sandboxId = req.headers['svc-sandbox-id'];
    if (typeof sandboxId !== 'string' || req.headers['svc-sandbox-port'] !== DAEMON_PORT)
      throw errors.dashboardOperation();
    const { id } = await findTeam(context, team);
    const known = await context.db
      .selectFrom('sandboxes')
      .select('id')
      .where('id', '=', sandboxId)
      .where('team_id', '=', id)
      .executeTakeFirst();
    if (known === undefined) throw errors.sandboxNotFound(sandboxId);
    const headers = sentHeaders(req.headers, {
      host: 'localhost',
      'x-access-token': accessToken(context.keys, known.id),
    });
    relay(
      await passOn(req, res, () =>
        toGateway({ method: req.method ?? '', path: url, headers, remoteAddress: req.socket.remoteAddress }),
      ),
      res,
    );
  };

  const answer: Answer = async (req, res) => {
    const url = req.url ?? '';
    const pathname = url.split('?', 1)[0] ?? '';
    if (pathname === '/dashboard') return void res.writeHead(308, { Location: '/dashboard/' }).end();
    if (pathname === '/dashboard/') return showFile(req, res, 'index.html');
    const [, , area = '', first = '', ...rest] = pathname.split('/');
    if (area === 'assets' && rest.length === 0) return showFile(req, res, first);
    if (!isSameOrigin(req.headers)) throw errors.dashboardOrigin();
    if (pathname === '/dashboard/session') {
      if (req.method === 'POST') return signIn(req, res);
      const expiresAt = new Date(sessionOf(req)).toISOString();
      if (req.method === 'GET') return send(res, 200, { expiresAt });
      if (req.method !== 'DELETE') throw errors.methodNotAllowed(['GET', 'POST', 'DELETE']);
      sessions.close(readSessionCookie(req.headers.cookie) ?? '');
      return send(res, 200, {}, { 'Set-Cookie': sessionCookie(req, '') });
    }
    sessionOf(req);
    const prefix = `/dashboard/${area}`;
    if (area === 'operator')
      return operatorApi(req, res, {
        url: url.slice(prefix.length),
      });
    const behind = url.slice(`${prefix}/${first}`.length);
    if (area === 'api') return toPlatform(req, res, teamOf(first), behind);
    if (area === 'gateway') return toDaemon(req, res, teamOf(first), behind);
    throw errors.notFound();
  };

  return async (req, res) => {
    try {
      await answer(req, res);
    } catch (thrown) {
      if (res.headersSent || res.destroyed) return void res.destroy();
      const error = toApiError(thrown, SIGN_IN_LIMIT);
      if (error.status >= 500)
        context.log.error({ err: error.cause ?? thrown }, 'a request of the dashboard failed');
      // A body that was not read to its end would be taken for the next request.
      const connection: Record<string, string> = req.complete ? {} : { Connection: 'close' };
      send(res, error.status, error.toRecord(), { ...error.headers, ...connection });
    }
  };
}

function teamOf(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw errors.validation('the path is not valid');
  }
}

/** Either the operator token, or the code of a link. @throws {ApiError} 400, 413 */
async function readSignIn(req: IncomingMessage): Promise<{ token?: string; code?: string }> {
  if (!/^application\/json\b/i.test(req.headers['content-type'] ?? ''))
    throw errors.validation('the content type is not application/json');
  if (!(Number(req.headers['content-length']) <= SIGN_IN_LIMIT)) throw errors.bodyTooLarge(SIGN_IN_LIMIT);
  const body: unknown = await json(req).catch(() => undefined);
  const { token, code } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof token === 'string' && code === undefined) return { token };
  if (typeof code === 'string' && token === undefined) return { code };
  throw errors.validation('the body must have either token or code, as text');
}

/** Returns whether a request comes from a page of this very server. Browsers write both headers themselves; programs need send neither. */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  // A proxy in front may change the host. These headers of browsers do not depend on it.
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === headers.host;
}

/** Names of credentials of sandboxes in answers of the platform API. The server adds them where they are needed. */
const TOKENS = new Set(['envdAccessToken', 'trafficAccessToken']);

/** An answer of the platform API without the credentials of sandboxes. */
export function withoutTokens(json: string): string {
  // Most answers have none, and need no second reading.
  if (![...TOKENS].some((name) => json.includes(name))) return json;
  return JSON.stringify(JSON.parse(json, (name, value) => (TOKENS.has(name) ? undefined : value)));
}

export interface InnerRequest {
  method: string;
  path: string;
  /** Names and values in turn. */
  headers: readonly string[];
  /** The client's address, for the audit trail. */
  remoteAddress: string | undefined;
}

/**
 * Sends HTTP to a server of this process without a socket: nothing of it depends on which ports the server listens on, whether it
 * speaks TLS there, or how many connections it allows an address.
 */
export function innerClient(server: http.Server): (request: InnerRequest) => http.ClientRequest {
  const inner = http.createServer({ requestTimeout: 0, headersTimeout: 0 });
  inner.on('request', (req: IncomingMessage, res: ServerResponse) => server.emit('request', req, res));
  return ({ method, path, headers, remoteAddress }) =>
    http.request({
      method,
      path,
      headers,
      agent: undefined,
      createConnection: () => {
        const [near, far] = duplexPair();
        inner.emit('connection', Object.assign(far, { remoteAddress }));
        // Either side that closes takes the other one along.
        link(near, far);
        link(far, near);
        return near;
      },
    });
}

function link(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => to.destroy());
}
