import { Client } from '../client/client.js';
import type { ClientOptions } from '../config/options.js';
import { json } from './script.js';
import { TestDaemon } from './test-daemon.js';
import { TestFetch } from './test-fetch.js';

/** A client and everything behind it, in memory. */
export interface TestService {
  readonly client: Client;
  /** Answers of the platform and the gateway. */
  readonly platform: TestFetch;
  /** The daemon of every sandbox. */
  readonly daemon: TestDaemon;
}

/**
 * Makes a client whose service is in memory: sandboxes are created, run scripted commands and are killed, and nothing is
 * sent. Script more with `platform.on(...)` and `daemon.onCommand(...)`; `faults` make it fail.
 * @example
 * const { client, daemon } = createTestService();
 * daemon.onCommand('date', { stdout: 'today' });
 * const sandbox = await client.sandboxes.create();
 */
export function createTestService(options: ClientOptions = {}): TestService {
  const daemon = new TestDaemon();
  const platform = new TestFetch();
  let created = 0;
  const alive = new Map<string, Record<string, unknown>>();
  const record = (templateID: string) => {
    const sandboxID = `test${String(++created).padStart(16, '0')}`;
    const sandbox = {
      sandboxID,
      templateID,
      clientID: 'test',
      envdVersion: '0.6.13',
      envdAccessToken: 'test-token',
    };
    alive.set(sandboxID, sandbox);
    return sandbox;
  };
  const idOf = (request: Request) => new URL(request.url).pathname.match(/sandboxes\/([^/]+)/)?.[1] ?? '';
  const missing = () => json(404, { code: 404, message: 'Sandbox not found' });
  platform
    .on('POST /v2/sandboxes', async (request) => {
      const { templateID = 'base' } = (await request.json()) as { templateID?: string };
      return json(201, record(templateID));
    })
    .on('POST /v2/sandboxes/{id}/connect', (request) => {
      const sandbox = alive.get(idOf(request));
      return sandbox ? json(200, sandbox) : missing();
    })
    .on('DELETE /sandboxes/{id}', (request) => (alive.delete(idOf(request)) ? json(204, null) : missing()))
    .on('GET /health', (request) => {
      const id = request.headers.get('Svc-Sandbox-Id') ?? '';
      return alive.has(id)
        ? json(204, null)
        : json(502, { sandboxId: id, message: 'The sandbox was not found', code: 502 });
    });
  const client = new Client({
    apiKey: 'svc_test',
    apiUrl: 'http://service.test',
    sandboxUrl: 'http://service.test',
    logLevel: 'off',
    fetch: platform.fetch,
    transport: daemon.transport,
    ...options,
  });
  return { client, platform, daemon };
}
