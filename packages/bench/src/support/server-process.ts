// The server under measurement, in a process of its own. Speaks with its parent over the IPC channel.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServer } from '@svc/server';
import type { ServerRequest } from './server-child.js';

const request = JSON.parse(process.argv[2] ?? '{}') as ServerRequest;
const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
const server = await startServer({
  dataDir,
  driver: request.driver,
  apiPort: 0,
  sandboxPort: 0,
  operatorPort: false,
  logLevel: 'warn',
  destroySandboxesOnStop: true,
  poolSize: request.poolSize,
  // What is measured is the service, not its limits.
  rateLimits: { general: { rate: 0, burst: 0 }, create: { rate: 0, burst: 0 } },
  teamLimits: { maxConcurrentSandboxes: 500 },
  maxSandboxes: 500,
});
await server.driver.poolReady();
process.send?.({ apiUrl: server.apiUrl, sandboxUrl: server.sandboxUrl, apiKey: server.apiKey });

async function stop(): Promise<void> {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
  process.exit(0);
}
process.on('message', (message) => {
  if (message === 'pool') void server.driver.poolReady().then(() => process.send?.('pool'));
  if (message === 'stop') void stop();
});
process.on('disconnect', () => void stop());
