import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EnvdContext } from './context.js';
import { mayPass } from './http/access.js';
import { handleCors } from './http/cors.js';
import { sendError, sendJson } from './http/rest.js';
import { createInitRoute } from './init/init-route.js';
import type { LogRing } from './log-ring/log-ring.js';
import type { Services } from './services.js';
import { sendMetrics } from './system/metrics-route.js';
import { refuseUpgrade } from './tunnel/refuse-upgrade.js';

export interface RequestDeps {
  context: EnvdContext;
  logs: LogRing;
  services(): Services;
  /** Settles once the first calls will be as fast as later ones. */
  warm(): Promise<void>;
}

type Route = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>;

/** The access token, then what the request is to become. */
export function createUpgradeHandler({ context, services }: RequestDeps) {
  return (request: IncomingMessage, client: Duplex, head: Buffer): void => {
    client.on('error', () => client.destroy());
    const url = parseUrl(request.url);
    const method = request.method ?? '';
    if (!url || method !== 'GET') refuseUpgrade(client, 400, 'only GET of a path can be upgraded');
    else if (!mayPass(context.token, method, url.pathname, request.headers['x-access-token']))
      refuseUpgrade(client, 401, 'the access token is missing or wrong');
    else
      context.gate.pass(
        () => services().upgrade(request, client, head, url),
        () => client.destroy(),
      );
  };
}

/** CORS, then the access token, then the handler of the path. */
export function createRequestHandler(deps: RequestDeps) {
  const { context, logs } = deps;
  const routes: Record<string, Record<string, Route>> = {
    '/health': {
      async GET(_, response, url) {
        if (url.searchParams.has('warm')) await deps.warm();
        response.writeHead(204, NO_STORE).end();
      },
    },
    '/init': { POST: createInitRoute(context) },
    '/envs': { GET: (_, response) => sendJson(response, 200, context.envVars, NO_STORE) },
    '/metrics': { GET: (_, response) => sendMetrics(response, context) },
    '/logs': {
      GET(_, response, url) {
        const limit = Math.max(1, numberOf(url, 'limit', 1000));
        sendJson(response, 200, logs.read(numberOf(url, 'after', 0), limit), NO_STORE);
      },
    },
  };
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (handleCors(request, response)) return;
    const url = parseUrl(request.url);
    if (!url) {
      sendError(response, 400, 'the request target is not a path');
      return;
    }
    const method = request.method ?? '';
    if (!mayPass(context.token, method, url.pathname, request.headers['x-access-token'])) {
      sendError(response, 401, 'the access token is missing or wrong');
      return;
    }
    const answer = () => {
      if (OF_SERVICES.test(url.pathname) && deps.services().handle(request, response, url.pathname)) return;
      serve(request, response, url).catch((error: Error) => {
        if (response.headersSent) response.destroy();
        else sendError(response, 500, error.message);
      });
    };
    if (NEVER_HELD.has(url.pathname)) answer();
    else context.gate.pass(answer, () => request.destroy());
  };

  async function serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const route = routes[url.pathname];
    if (route) {
      const handler = route[request.method ?? ''];
      if (handler) return handler(request, response, url);
      const allowed = Object.keys(route).join(', ');
      return sendError(response, 405, `method ${request.method} not allowed`, { Allow: allowed });
    }
    sendError(response, 404, `no route ${request.method} ${url.pathname}`);
  }
}

const OF_SERVICES = /^\/(?:files|process\.Process|filesystem\.Filesystem)(?:\/|$)/;
const NEVER_HELD = new Set(['/init', '/health']);
const NO_STORE = { 'Cache-Control': 'no-store' };

function parseUrl(target: string | undefined): URL | undefined {
  try {
    return target?.startsWith('/') ? new URL(`http://localhost${target}`) : undefined;
  } catch {
    return undefined;
  }
}

function numberOf(url: URL, name: string, fallback: number): number {
  const text = url.searchParams.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : fallback;
}
