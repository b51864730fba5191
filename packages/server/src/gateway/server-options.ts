import type { ServerOptions } from 'node:http';

/**
 * Options for the HTTP server in front of the gateway: bodies may stream for as long as they like, headers may not,
 * and an unused client connection outlives one to a sandbox (620 s).
 */
export const gatewayServerOptions = {
  requestTimeout: 0,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 630_000,
  noDelay: true,
  maxHeaderSize: 64 * 1024,
  insecureHTTPParser: false,
} satisfies ServerOptions;
