import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, type ServerOptions, startServer } from '@svc/server';

export interface LocalServer extends AsyncDisposable {
  server: Server;
  /** Environment of commands that talk to it: a home of their own, its key and addresses. */
  env: Record<string, string>;
  home: string;
}

/** A whole server in temporary directories, and a home for the commands that use it. */
export async function startLocalServer(
  driver: 'process' | 'linux' = 'process',
  options: Partial<ServerOptions> = {},
): Promise<LocalServer> {
  const home = await mkdtemp(join(tmpdir(), 'svc-cli-'));
  const server = await startServer({
    dataDir: join(home, 'data'),
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    driver,
    logLevel: 'silent',
    validateResponses: true,
    destroySandboxesOnStop: true,
    rateLimits: { general: { rate: 0, burst: 0 }, create: { rate: 0, burst: 0 } },
    tuning: { webhooks: { allowPrivateAddresses: true, retryDelaysMs: [100, 100, 100] } },
    ...options,
  });
  return {
    server,
    home,
    env: {
      HOME: home,
      SVC_API_KEY: server.apiKey,
      SVC_API_URL: server.apiUrl,
      SVC_SANDBOX_URL: server.sandboxUrl,
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
