import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { ServerOptions } from '../config/options.js';
import type { ServerContext } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { createGateway, type Gateway, gatewayServerOptions } from '../gateway/index.js';
import type { ConnectionGuard } from '../limits/connections.js';
import { type Destination, NodeForwarder, refuseDead } from '../nodes/forward-gateway.js';
import { findRoute, resumeForRequest, settled } from '../sandboxes/routing.js';
import { OpenRequests } from './open-requests.js';

/** The gateway on an HTTP server of its own, not listening yet. */
export function createGatewayServer(
  context: ServerContext,
  options: ServerOptions,
  guard: ConnectionGuard,
): { gateway: Gateway; server: http.Server; forwarder: NodeForwarder; open: OpenRequests } {
  const gateway = createGateway({
    findRoute: (sandboxId) => findRoute(context, sandboxId),
    resume: (sandboxId) => resumeForRequest(context, sandboxId),
    settled: (sandboxId, signal) => settled(context, sandboxId, signal),
    onAdmitted: (socket) => guard.trust(socket),
    log: context.log,
    config: {
      sandboxHosts: hostsOf(options),
      ...(options.headerPrefixes === undefined ? {} : { headerPrefixes: options.headerPrefixes }),
    },
  });
  const forwarder = new NodeForwarder(context);
  const server = http.createServer(gatewayServerOptions);
  guard.watch(server);
  const open = new OpenRequests();
  /** Finds out whose sandbox is meant, without a detour when it is one of ours. */
  const route = (req: IncomingMessage, then: (destination: Destination) => void) => {
    const destination = forwarder.destination(req, gateway.sandboxIdOf(req));
    if (!(destination instanceof Promise)) return then(destination);
    destination.then(then, (error: unknown) => {
      context.log.error({ err: error }, 'the node of a sandbox could not be looked up');
      then({ kind: 'dead' });
    });
  };
  const handle = (req: IncomingMessage, res: ServerResponse, expectContinue: boolean) => {
    if (context.draining()) return refuseStopping(res);
    open.track(req, res, gateway.daemonStreamOf(req));
    route(req, (destination) => {
      if (destination.kind === 'node') forwarder.request(destination.node, req, res, expectContinue);
      else if (destination.kind === 'dead') refuseDead(res);
      else if (expectContinue) gateway.handleContinue(req, res);
      else gateway.handleRequest(req, res);
    });
  };
  server.on('request', (req, res) => handle(req, res, false));
  server.on('checkContinue', (req, res) => handle(req, res, true));
  server.on('upgrade', (req, socket, head) => {
    if (context.draining())
      return void socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
    route(req, (destination) => {
      if (destination.kind === 'node') forwarder.upgrade(destination.node, req, socket, head);
      else if (destination.kind === 'dead')
        socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      else gateway.handleUpgrade(req, socket, head);
    });
  });
  server.on('connect', (req, socket) => gateway.handleConnect(req, socket));
  return { gateway, server, forwarder, open };
}

/** Answers a request that comes on an open connection while the server stops. */
function refuseStopping(res: ServerResponse): void {
  const error = errors.shuttingDown();
  res
    .writeHead(503, { ...error.headers, 'Content-Type': 'application/json', Connection: 'close' })
    .end(JSON.stringify(error.toRecord()));
}

/** Hosts under which clients know the gateway: on these the routing headers are required. */
function hostsOf({ publicSandboxUrl, host = '127.0.0.1' }: ServerOptions): string[] {
  return publicSandboxUrl === undefined ? [host, 'localhost'] : [new URL(publicSandboxUrl).hostname];
}
