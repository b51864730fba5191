import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Server, type ServerOptions, startServer } from '../../src/index.js';
import { dropSchema, testStorage } from './server-storage.js';

export interface TestServer extends AsyncDisposable {
  server: Server;
  dataDir: string;
  /** Sends a request with the default team's key. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** Moves the server's clock. */
  advance(ms: number): void;
  /** Stops it and starts it again on the same data. */
  restart(): Promise<void>;
}

export interface ApiAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  body: any;
}

/** A real server with the process driver on any ports, every answer checked against the document. */
export async function startTestServer(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-server-'));
  const { storage, schema } = await testStorage();
  let offset = 0;
  const start = () =>
    startServer({
      dataDir,
      storage,
      driver: 'process',
      host: '127.0.0.1',
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: 0,
      logLevel: (process.env.SVC_TEST_LOG as 'debug') ?? 'silent',
      validateResponses: true,
      drainMs: 2_000,
      rateLimits: { general: { rate: 0, burst: 1 }, create: { rate: 0, burst: 1 } },
      now: () => Date.now() + offset,
      ...options,
    });
  const test: TestServer = {
    server: await start(),
    dataDir,
    api: async (method, target, body, headers = {}) => {
      const response = await fetch(`${test.server.apiUrl}${target}`, {
        method,
        headers: {
          'X-API-Key': test.server.apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    },
    advance: (ms) => {
      offset += ms;
    },
    restart: async () => {
      await test.server.stop({ destroySandboxes: false });
      test.server = await start();
    },
    [Symbol.asyncDispose]: async () => {
      await test.server.stop({ destroySandboxes: true });
      await dropSchema(schema);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return test;
}
