import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ConnectionGuard } from '../api/limits/connections.js';

export interface OperatorDeps {
  /** Asked for at each scrape: Prometheus' text format. */
  metrics(): Promise<{ type: string; body: string }>;
  /** Returns the content of `/status`, as JSON. It must hold no secrets: the route asks for no credential. */
  status(): Promise<object> | object;
  /** Answers `/dashboard` and what is below it. Asks for its own credential. */
  dashboard?: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Answers everything else. Asks for its own credential. */
  operations?: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Receives the error of a failed scrape; the client only learns that it failed. */
  onError?: (error: unknown) => void;
  /** Looks after the connections. */
  guard?: ConnectionGuard;
}

const REQUEST_READ_MS = 15_000;

export interface OperatorServer extends AsyncDisposable {
  /** `http://host:port`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics` (Prometheus) and `GET /status` (JSON) without a credential, and the operations on teams with the
 * operator token, and the dashboard, on a port of its own, for operators only.
 * @param options.host Default 127.0.0.1: any client gets the figures.
 * @param options.port 0 takes any free one.
 */
export async function startOperatorServer(
  deps: OperatorDeps,
  options: { host?: string; port: number },
): Promise<OperatorServer> {
  const routes: Record<string, () => Promise<{ type: string; body: string }>> = {
    '/metrics': () => deps.metrics(),
    '/status': async () => ({
      type: 'application/json; charset=utf-8',
      body: JSON.stringify(await deps.status()),
    }),
  };
  const { dashboard } = deps;
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const pathname = (req.url ?? '').split('?', 1)[0] ?? '';
    // Files on their way into a sandbox take their time.
    if (!pathname.startsWith('/dashboard/gateway/')) limitReading(req, res);
    if (dashboard !== undefined) {
      if (pathname === '/') return void res.writeHead(302, { Location: '/dashboard/' }).end();
      if (/^\/dashboard(\/|$)/.test(pathname)) return dashboard(req, res);
    }
    const send = (status: number, body: string, headers: Record<string, string> = {}) => {
      const fixed = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
      res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...fixed, ...headers });
      res.end(req.method === 'HEAD' ? undefined : body);
    };
    const route = routes[pathname];
    if (!route) return deps.operations ? deps.operations(req, res) : send(404, 'not found\n');
    if (req.method !== 'GET' && req.method !== 'HEAD')
      return send(405, 'method not allowed\n', { Allow: 'GET, HEAD' });
    try {
      const { type, body } = await route();
      send(200, body, { 'Content-Type': type });
    } catch (error) {
      deps.onError?.(error);
      send(500, 'failed\n');
    }
  };
  const limits = {
    requestTimeout: 0,
    headersTimeout: REQUEST_READ_MS,
    connectionsCheckingInterval: 5_000,
  };
  const server = createServer(limits, (req, res) => void answer(req, res));
  deps.guard?.watch(server);
  server.listen(options.port, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const host = family === 'IPv6' ? `[${address}]` : address;
  return { url: `http://${host}:${port}`, close, [Symbol.asyncDispose]: close };
}

/** Requests are small: one that takes long to arrive is an attempt to occupy connections. */
function limitReading(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) return;
  const timer = setTimeout(() => {
    req.socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n', () => req.socket.destroy());
  }, REQUEST_READ_MS);
  timer.unref();
  for (const emitter of [req, res]) emitter.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
}
