import { once } from 'node:events';
import http from 'node:http';
import net, { type LookupFunction, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { assertPublicHost, ForbiddenAddressError, publicLookup } from './public-lookup.js';

export interface GuardProxy {
  /** The last host that was refused because its address is not public; undefined: none was. */
  refusedHost(): string | undefined;
  /** Ends it with every connection through it. */
  close(): Promise<void>;
}

const DIAL_MS = 30_000;

/**
 * An HTTP proxy on a UNIX socket that connects to addresses of the public internet only, for programs that connect by
 * themselves. It looks names up itself: what it checks is what it connects to.
 */
export async function openGuardProxy(
  socketPath: string,
  rules: { lookup: LookupFunction; assertHost(host: string): void } = {
    lookup: publicLookup,
    assertHost: assertPublicHost,
  },
): Promise<GuardProxy> {
  let refused: string | undefined;
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket)).on('error', () => {});
  };
  const failed = (host: string, error: unknown): number => {
    if (!(error instanceof ForbiddenAddressError)) return 502;
    refused = host;
    return 403;
  };

  const server = http.createServer((request, response) => {
    const answer = (status: number) => {
      if (!response.headersSent) response.writeHead(status, { Connection: 'close' });
      response.end();
    };
    const target = URL.canParse(request.url ?? '') ? new URL(request.url!) : undefined;
    if (target?.protocol !== 'http:') return answer(400);
    try {
      rules.assertHost(target.hostname);
    } catch (error) {
      return answer(failed(target.host, error));
    }
    const upstream = http.request(
      target,
      { method: request.method ?? 'GET', headers: withoutProxy(request.headers), lookup: rules.lookup },
      (from) => {
        response.writeHead(from.statusCode ?? 502, from.headers);
        pipeline(from, response, () => {});
      },
    );
    upstream.on('socket', keep).on('error', (error) => answer(failed(target.host, error)));
    pipeline(request, upstream, () => {});
  });

  server.on('connection', keep).on('connect', (request, client: Socket, head: Buffer) => {
    const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(request.url ?? '') ?? [];
    const refuse = (status: number) => client.end(`HTTP/1.1 ${status} refused\r\nConnection: close\r\n\r\n`);
    try {
      rules.assertHost(host);
      if (host === '' || Number(port) > 65_535) return refuse(400);
    } catch (error) {
      return refuse(failed(host, error));
    }
    const upstream = net.connect({ host, port: Number(port), lookup: rules.lookup, timeout: DIAL_MS });
    keep(upstream);
    upstream.once('timeout', () => upstream.destroy(new Error('no connection in time')));
    upstream.once('error', (error) => {
      if (upstream.connecting || upstream.bytesRead === 0) refuse(failed(host, error));
      client.destroySoon();
    });
    upstream.once('connect', () => {
      upstream.setTimeout(0);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      pipeline(client, upstream, client, () => {});
    });
  });

  server.listen(socketPath);
  await once(server, 'listening');
  return {
    refusedHost: () => refused,
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      if (server.listening) await once(server, 'close');
    },
  };
}

function withoutProxy(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('proxy-')));
}
