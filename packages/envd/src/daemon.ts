import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp, type ServicesPart } from './app.js';
import type { DaemonOptions } from './options.js';
import { OpenTerminals } from './process/open-terminals.js';
import { createPipeSource } from './process/pipes.js';
import { createWarmUp } from './startup/warm-up.js';
import { handleConnectMethod } from './tunnel/tunnel.js';

// Kept-alive connections of the gateway may rest this long, ms.
const IDLE_TIMEOUT_MS = 640_000;

// So long a first request may take to come before the time is used.
const WARM_UP_AFTER_MS = 10;

export interface DaemonListeners {
  ready(port: number): void;
  failed(error: Error): void;
}

/** Starts to listen. Runs until the process ends. */
export function startDaemon(
  options: DaemonOptions,
  loadServices: () => ServicesPart,
  listeners: DaemonListeners,
): void {
  const { singleUser } = options;
  const pipes = createPipeSource(options.pipeDirectory);
  const resources = { pipes, terminals: new OpenTerminals(), loadServices };
  let called = false;
  const warmUp = createWarmUp({
    needed: [() => app.load(), pipes.prepare],
    makeHandler: () => createApp({ singleUser }, resources).handle,
    wanted: () => called,
  });
  const app = createApp({ singleUser, warm: warmUp.complete }, resources);
  // Programs must not inherit the groups of the process that started the daemon.
  if (!singleUser && process.getuid?.() === 0) process.setgroups?.([]);
  const server = createServer(
    { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: IDLE_TIMEOUT_MS },
    (request, response) => {
      // A caller that asks whether we are up gets the answer first, and is busy after it.
      if (/^\/health(\?|$)/.test(request.url ?? '')) response.once('finish', warmUp.begin);
      else called = true;
      app.handle(request, response);
    },
  );
  server.timeout = 0;
  server.on('connect', handleConnectMethod);
  server.on('upgrade', (request, client, head) => {
    called = true;
    app.upgrade(request, client, head);
  });
  server.once('error', listeners.failed);
  server.listen(options.port, options.host, () => {
    listeners.ready((server.address() as AddressInfo).port);
    setTimeout(warmUp.begin, WARM_UP_AFTER_MS).unref();
  });
  process.once('SIGTERM', () => {
    // Without a sandbox around it the daemon's processes would outlive it.
    if (singleUser) app.killAll();
    process.exit(0);
  });
}
