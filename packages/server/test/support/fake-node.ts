import { once } from 'node:events';
import http, { type RequestListener, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { toJson } from '../../src/storage/json.js';
import type { Database } from '../../src/storage/schema.js';

export interface FakeNode extends AsyncDisposable {
  id: string;
  /** Requests that it got, each with how to answer it. */
  requests: { method: string; url: string; headers: http.IncomingHttpHeaders; response: ServerResponse }[];
}

/**
 * A node that lives by its record, has room for anything, and does with requests what the test says.
 * @param onRequest by default it is mute, as a frozen machine is
 * @param tls it listens with encryption, by this certificate
 */
export async function startFakeNode(
  db: Database,
  id: string,
  onRequest: (response: ServerResponse) => void = () => {},
  tls?: { certificate: string; key: string },
): Promise<FakeNode> {
  const requests: FakeNode['requests'] = [];
  const take: RequestListener = (req, response) => {
    requests.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers, response });
    onRequest(response);
  };
  const server =
    tls === undefined
      ? http.createServer(take)
      : https.createServer({ cert: tls.certificate, key: tls.key }, take);
  server.on('upgrade', (_req, socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const report = {
    ...{ version: '0', driver: 'process', running: 0, maxSandboxes: 1000, pooled: 0, cpuCount: 64, load: 0 },
    ...{ memoryFreeMiB: 999_000, memoryTotalMiB: 1_000_000, diskFreeMiB: 1_000_000 },
  };
  const values = {
    api_url: url,
    sandbox_url: url,
    heartbeat_at: Date.now() + 3_600_000,
    report: toJson(report),
  };
  await db
    .insertInto('nodes')
    .values({ id, ...values })
    .execute();
  return {
    id,
    requests,
    [Symbol.asyncDispose]: async () => {
      await db.deleteFrom('nodes').where('id', '=', id).execute();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
