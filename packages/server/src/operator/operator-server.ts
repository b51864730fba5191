import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ConnectionGuard } from '../limits/connections.js';

export interface OperatorDeps {
  /** Asked for at each scrape: Prometheus' text format. */
  metrics(): Promise<{ type: string; body: string }>;
  /** What `/status` shows, as JSON. Must hold no secrets: it asks for no credential. */
  status(): Promise<object> | object;
  /** Answers everything else. Asks for its own credential. */
  operations?: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  /** Told of a failed scrape; the client only learns that it failed. */
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
 * operator token, on a port of its own, for operators only.
 * @param options.host Default 127.0.0.1: figures are shown to whoever asks.
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
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const send = (status: number, body: string, headers: Record<string, string> = {}) => {
      const fixed = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
      res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...fixed, ...headers });
      res.end(req.method === 'HEAD' ? undefined : body);
    };
    const route = routes[(req.url ?? '').split('?', 1)[0] ?? ''];
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
  // Requests are small: one that takes long to arrive is an attempt to hold connections.
  const limits = {
    requestTimeout: REQUEST_READ_MS,
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
