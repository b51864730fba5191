import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createMcpServer, type McpToolsOptions } from './create-mcp-server.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
export const MCP_PATH = '/mcp';

export interface ServeHttpOptions extends McpToolsOptions {
  /** Port of the loopback interface. 0: any that is free. */
  readonly port: number;
  /** The token that clients send as `Authorization: Bearer TOKEN`. */
  readonly token: string;
  /** Names under which a reverse proxy is reached, beside those of the loopback interface. */
  readonly allowedHosts?: readonly string[];
}

/** A running server. */
export interface McpHttpServer {
  /** Where clients connect. */
  readonly url: string;
  /** Ends what is under way and frees the port. */
  close(): Promise<void>;
}

/** Serves any number of clients over streamable HTTP on the loopback interface. They share the default sandbox. */
export async function serveHttp({
  port,
  token,
  allowedHosts = [],
  ...options
}: ServeHttpOptions): Promise<McpHttpServer> {
  const handler = createMcpHandler(() => createMcpServer(options));
  const answer = toNodeHandler(handler);
  const hosts = [...LOOPBACK, ...allowedHosts];
  const [hostIsAllowed, originIsAllowed] = [hostHeaderValidation(hosts), originValidation(hosts)];
  const server = createServer((request, response) => {
    // A page in a browser of this machine must not reach it under a name of its own.
    if (!hostIsAllowed(request, response) || !originIsAllowed(request, response)) return;
    if (!isBearer(request.headers.authorization, token)) {
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('Send "Authorization: Bearer TOKEN".\n');
    } else if (new URL(request.url ?? '/', 'http://localhost').pathname !== MCP_PATH) {
      response.writeHead(404).end(`The protocol is spoken at ${MCP_PATH}.\n`);
    } else {
      void answer(request as Parameters<typeof answer>[0], response);
    }
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed).listen(port, '127.0.0.1', listening);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${MCP_PATH}`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Compares in a time that reveals nothing of the token. */
function isBearer(header: string | undefined, token: string): boolean {
  const digest = (value: string) => createHash('sha256').update(value).digest();
  return timingSafeEqual(digest(header ?? ''), digest(`Bearer ${token}`));
}
