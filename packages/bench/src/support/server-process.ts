// The server under measurement, as its program runs it: two processes where root starts it. Speaks with its parent over the
// IPC channel.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { planStart, receiveOrders, runAsRoot, startSeparatedServer, startServer } from '@svc/server';
import type { ServerOrders } from './server-child.js';

const request = JSON.parse(process.argv[2] ?? '{}') as ServerOrders;
const options = {
  dataDir: request.dataDir,
  driver: request.driver,
  apiPort: 0,
  sandboxPort: 0,
  operatorPort: false,
  logLevel: 'warn',
  destroySandboxesOnStop: true,
  poolSize: request.poolSize,
  ...(request.poolMemoryMiB === undefined ? {} : { poolMemoryMiB: request.poolMemoryMiB }),
  ...(request.driver === 'linux' ? { isolation: request.isolation ?? 'container' } : {}),
  ...(request.incusAddress === undefined ? {} : { incus: { address: request.incusAddress } }),
  // The subject of the measurement is the service, not its limits.
  rateLimits: { general: { rate: 0, burst: 0 }, create: { rate: 0, burst: 0 } },
  teamLimits: { maxConcurrentSandboxes: 500 },
  maxSandboxes: 500,
} as const;
const orders = await receiveOrders();
const plan = orders === undefined ? await planStart(options) : { kind: 'started-by-root' as const, orders };
if (plan.kind === 'as-root') process.exit((await runAsRoot(options, plan.user)).code);
const server = await (plan.kind === 'alone' ? startServer(options) : startSeparatedServer(options, plan));
await server.driver.poolReady();
process.send?.({
  apiUrl: server.apiUrl,
  sandboxUrl: server.sandboxUrl,
  apiKey: server.apiKey,
  pid: process.pid,
});

/** Time between looks at the event loop, ms. */
const RESOLUTION_MS = 10;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();

/** Returns the delay of the event loop since the last call, p99, ms. */
function eventLoopDelayMs(): number {
  const late = delays.count === 0 ? 0 : Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS);
  delays.reset();
  return late;
}

async function stop(): Promise<void> {
  await server.stop();
  process.exit(0);
}
process.on('message', (message) => {
  if (message === 'pool') void server.driver.poolReady().then(() => process.send?.('pool'));
  if (message === 'event-loop') process.send?.(eventLoopDelayMs());
  if (message === 'stop') void stop();
});
process.on('disconnect', () => void stop());
