import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EnvdContext } from '../../src/context.js';
import { createFileRoutes } from '../../src/files/index.js';
import { createGate } from '../../src/gate.js';
import type { LogRing } from '../../src/log-ring/log-ring.js';
import { createRequestHandler } from '../../src/request-handler.js';
import { createTokenStore } from '../../src/token/token-store.js';

let server: Server;
let url: string;
beforeAll(async () => {
  const token = createTokenStore();
  const gate = createGate();
  // A daemon that fails at whatever it looks at but what lets requests in.
  const context = new Proxy({} as EnvdContext, {
    get: (_, name) => {
      if (name === 'token') return token;
      if (name === 'gate') return gate;
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    },
  });
  const files = createFileRoutes(context);
  const handle = createRequestHandler({
    context,
    logs: {} as LogRing,
    services: () => ({ handle: (...call) => files.handle(...call), upgrade: () => {}, killAll: () => {} }),
    warm: async () => {},
  });
  server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it.each([
  ['getMetrics', 'GET', '/metrics', undefined],
  ['getEnvs', 'GET', '/envs', undefined],
  ['readFile', 'GET', '/files?path=/f', undefined],
  ['writeFiles', 'POST', '/files?path=/f', 'content'],
  ['composeFiles', 'POST', '/files/compose', '{"source_paths":["a"],"destination":"b"}'],
])('answers 500 with the record, and lives on, when %s fails', async (_operation, method, path, body) => {
  const answer = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body }) });
  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({ code: 500, message: expect.any(String) });
  expect((await fetch(`${url}/health`)).status).toBe(204);
});
