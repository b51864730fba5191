import type { components } from '@svc/daemon';
import { json } from '../answers/refusal.js';
import { composeFiles, DaemonRefusal, readFile, writeFiles } from './file-routes.js';
import { answerRpc } from './rpc-routes.js';
import type { DaemonScope } from './scope.js';

type Route = (request: Request, url: URL, scope: DaemonScope) => Response | Promise<Response>;

const noStore = { 'Cache-Control': 'no-store' };

const routes: Record<string, Record<string, Route>> = {
  '/health': { GET: () => new Response(null, { status: 204, headers: noStore }) },
  '/envs': {
    GET: (_, __, { sandbox }) => {
      const own = { SVC_SANDBOX: 'true', SVC_SANDBOX_ID: sandbox.id, SVC_TEMPLATE_ID: sandbox.templateId };
      return json(200, { ...own, ...sandbox.settings.envVars }, noStore);
    },
  },
  '/metrics': {
    GET: (_, __, { clock }) => {
      const memory = 512 * 1024 * 1024;
      const metrics: components['schemas']['DaemonMetrics'] = {
        ts: Math.floor(clock.nowMs / 1000),
        cpu_count: 2,
        cpu_used_pct: 0,
        mem_total: memory,
        mem_used: 0,
        mem_cache: 0,
        mem_total_mib: 512,
        mem_used_mib: 0,
        disk_used: 0,
        disk_total: 10 * memory,
      };
      return json(200, metrics, noStore);
    },
  },
  '/files': { GET: readFile, HEAD: readFile, POST: writeFiles },
  '/files/compose': { POST: (request, _, scope) => composeFiles(request, scope) },
};

/** These check for themselves. */
const open = new Set(['GET /health', 'GET /files', 'POST /files']);

/** The daemon of a sandbox that runs: token, then the handler of the path. Never rejects. */
export async function answerDaemon(request: Request, url: URL, scope: DaemonScope): Promise<Response> {
  try {
    const { method } = request;
    const { pathname } = url;
    if (
      !open.has(`${method} ${pathname}`) &&
      request.headers.get('X-Access-Token') !== scope.sandbox.accessToken
    )
      throw new DaemonRefusal(401, 'the access token is missing or wrong');
    const answered = await answerRpc(request, url, scope);
    if (answered) return answered;
    const methods = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
    if (!methods) throw new DaemonRefusal(404, `no route ${method} ${pathname}`);
    const route = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!route)
      throw new DaemonRefusal(405, `method ${method} not allowed`, {
        Allow: Object.keys(methods).join(', '),
      });
    return await route(request, url, scope);
  } catch (error) {
    if (error instanceof DaemonRefusal) return error.toResponse();
    return new DaemonRefusal(500, error instanceof Error ? error.message : String(error)).toResponse();
  }
}
