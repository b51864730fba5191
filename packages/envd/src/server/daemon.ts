import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Process } from '@svc/daemon/gen';
import type { EnvdContext } from '../context.js';
import { createFileRoutes } from '../files/index.js';
import { registerFilesystem } from '../filesystem/index.js';
import { createLogRing } from '../log-ring/log-ring.js';
import { OpenTerminals } from '../process/open-terminals.js';
import { createPipeSource } from '../process/pipes.js';
import { ProcessTable } from '../process/process-table.js';
import { createProcessService } from '../process/service.js';
import { createTokenStore } from '../token/token-store.js';
import { handleConnectMethod } from '../tunnel/tunnel.js';
import { createUsers } from '../users/index.js';
import { createConnectRoutes } from './connect-routes.js';
import type { DaemonOptions } from './options.js';
import { createRequestHandler } from './request-handler.js';

// Kept-alive connections of the gateway may rest this long, ms.
const IDLE_TIMEOUT_MS = 640_000;

export interface DaemonListeners {
  ready(port: number): void;
  failed(error: Error): void;
}

/** Starts to listen. Runs until the process ends. */
export function startDaemon(options: DaemonOptions, listeners: DaemonListeners): void {
  const { singleUser } = options;
  const context: EnvdContext = {
    users: createUsers(singleUser ? { singleUser } : {}),
    defaults: { user: singleUser ? 'user' : 'root', workdir: undefined },
    token: createTokenStore(),
    envVars: {},
    ...(singleUser ? { singleUser } : {}),
    now: Date.now,
  };
  const logs = createLogRing(context.now);
  const table = new ProcessTable();
  const pipes = createPipeSource();
  const terminals = new OpenTerminals();
  // Programs must not inherit the groups of whoever started the daemon.
  if (!singleUser && process.getuid?.() === 0) process.setgroups?.([]);
  const kill = (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal);
  const rpc = createConnectRoutes((router) => {
    registerFilesystem(router, context);
    router.service(
      Process,
      createProcessService({ context, table, logs, pipes, terminals, daemonPath: process.env.PATH, kill }),
    );
  });
  const handle = createRequestHandler({ context, logs, rpc, files: createFileRoutes(context) });
  const server = createServer(
    { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: IDLE_TIMEOUT_MS },
    handle,
  );
  server.timeout = 0;
  server.on('connect', handleConnectMethod);
  server.once('error', listeners.failed);
  server.listen(options.port, options.host, () => {
    listeners.ready((server.address() as AddressInfo).port);
    pipes.prepare().catch(() => {});
  });
  process.once('SIGTERM', () => {
    // Without a sandbox around it the daemon's processes would outlive it.
    if (singleUser) for (const { pid } of table.running()) tryKill(pid);
    process.exit(0);
  });
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
