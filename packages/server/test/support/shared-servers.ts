import { randomBytes } from 'node:crypto';
import type { ServerOptions } from '../../src/index.js';
import { type ApiAnswer, startTestServer, type TestServer } from './server.js';
import { dropSchema, testStorage } from './server-storage.js';

export interface SharedServers extends AsyncDisposable {
  servers: TestServer[];
  /** Sends a request to one of them with the key of the first one, which all know. */
  ask(
    server: TestServer,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiAnswer>;
  /** Makes a sandbox on one of them, also when others are emptier: from then on it places new ones nowhere else. */
  createOn(server: TestServer, body?: object): Promise<{ id: string; token: string }>;
}

/** Servers on one PostgreSQL with one key, started one after another. @param options of the one with that index */
export async function startSharedServers(
  count: number,
  options: (index: number) => Partial<ServerOptions> = () => ({}),
): Promise<SharedServers> {
  const { storage, schema } = await testStorage();
  const serverKey = randomBytes(32).toString('hex');
  const servers: TestServer[] = [];
  const stop = async () => {
    for (const server of servers.toReversed()) await server[Symbol.asyncDispose]();
    await dropSchema(schema);
  };
  try {
    for (let index = 0; index < count; index += 1)
      servers.push(
        await startTestServer({ storage, serverKey, validateResponses: false, ...options(index) }),
      );
  } catch (error) {
    await stop();
    throw error;
  }
  const ask: SharedServers['ask'] = (server, method, path, body, headers = {}) =>
    server.api(method, path, body, { 'X-API-Key': servers[0]!.server.apiKey, ...headers });
  return {
    servers,
    ask,
    async createOn(server, body = {}) {
      server.server.context.fleet.places = () => Promise.resolve([]);
      const made = await ask(server, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600, ...body });
      if (made.status !== 201)
        throw new Error(`create answered ${made.status}: ${JSON.stringify(made.body)}`);
      return { id: made.body.sandboxID, token: made.body.envdAccessToken };
    },
    [Symbol.asyncDispose]: stop,
  };
}
