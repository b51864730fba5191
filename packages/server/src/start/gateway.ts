import http from 'node:http';
import type { ServerOptions } from '../config/options.js';
import type { ServerContext } from '../context.js';
import { createGateway, type Gateway, gatewayServerOptions } from '../gateway/index.js';
import { findRoute, resumeForRequest, settled } from '../sandboxes/routing.js';

/** The gateway on an HTTP server of its own, not listening yet. */
export function createGatewayServer(
  context: ServerContext,
  options: ServerOptions,
): { gateway: Gateway; server: http.Server } {
  const gateway = createGateway({
    findRoute: (sandboxId) => findRoute(context, sandboxId),
    resume: (sandboxId) => resumeForRequest(context, sandboxId),
    settled: (sandboxId, signal) => settled(context, sandboxId, signal),
    log: context.log,
    config: {
      sandboxHosts: hostsOf(options.publicSandboxUrl),
      ...(options.headerPrefixes === undefined ? {} : { headerPrefixes: options.headerPrefixes }),
    },
  });
  const server = http.createServer(gatewayServerOptions);
  server.on('request', (request, response) => gateway.handleRequest(request, response));
  server.on('checkContinue', (request, response) => gateway.handleContinue(request, response));
  server.on('upgrade', (request, socket, head) => gateway.handleUpgrade(request, socket, head));
  server.on('connect', (request, socket) => gateway.handleConnect(request, socket));
  return { gateway, server };
}

function hostsOf(url: string | undefined): string[] {
  return url === undefined ? [] : [new URL(url).hostname];
}
