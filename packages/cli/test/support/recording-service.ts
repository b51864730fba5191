import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RecordingService extends AsyncDisposable {
  /** Environment of commands that talk to it. */
  env: Record<string, string>;
  /** Bodies of the requests to a place, oldest first. */
  bodies(method: string, path: string): unknown[];
}

/** A running sandbox as the platform API answers it. */
export const sandboxRecord = (sandboxID: string) => ({
  sandboxID,
  templateID: 'base',
  clientID: 'test',
  envdVersion: '0.6.13',
  envdAccessToken: 'token',
  startedAt: '2026-01-01T00:00:00Z',
  endAt: '2026-01-01T01:00:00Z',
  cpuCount: 1,
  memoryMB: 512,
  diskSizeMB: 0,
  state: 'running',
  volumeMounts: [],
  lifecycle: { autoResume: false, onTimeout: 'kill' },
});

/** A platform API that writes down what it is asked, and answers with one sandbox. */
export async function startRecordingService(): Promise<RecordingService> {
  const seen: { place: string; body: unknown }[] = [];
  const sandbox = sandboxRecord('i0000000000000000000a');
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    seen.push({ place: `${request.method} ${pathname}`, body: text === '' ? undefined : JSON.parse(text) });
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(pathname.endsWith('/fork') ? [{ sandbox }] : sandbox));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: { SVC_API_KEY: `svc_${'0'.repeat(40)}`, SVC_API_URL: url, SVC_SANDBOX_URL: url },
    bodies: (method, path) =>
      seen.filter(({ place }) => place === `${method} ${path}`).map(({ body }) => body),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
