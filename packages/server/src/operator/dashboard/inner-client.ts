import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

export interface InnerRequest {
  method: string;
  path: string;
  /** Names and values in turn. */
  headers: readonly string[];
  /** Where it came from, for the audit trail. */
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
        // Who leaves takes the other side along.
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
