// Before the RPC library, which looks for these methods as it loads.
import './system/base64.js';

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Process } from '@svc/daemon/gen';
import type { EnvdContext } from './context.js';
import { createFileRoutes } from './files/index.js';
import { registerFilesystem } from './filesystem/index.js';
import { createConnectRoutes } from './http/connect-routes.js';
import type { LogRing } from './log-ring/log-ring.js';
import type { OpenTerminals } from './process/open-terminals.js';
import { OutputBudget } from './process/output-budget.js';
import type { PipeSource } from './process/pipes.js';
import { ProcessTable } from './process/process-table.js';
import { createProcessService } from './process/service.js';
import { spawnShell } from './process/spawn-pipes.js';
import { WaitingShells } from './startup/waiting-shells.js';
import { createGarbageDuty } from './system/garbage.js';
import { createHeapRoom } from './system/heap-room.js';
import { upgradeRequest } from './tunnel/upgrades.js';

export interface ServicesDeps {
  context: EnvdContext;
  logs: LogRing;
  pipes: PipeSource;
  terminals: OpenTerminals;
}

/** The RPC services and the file routes: most of the program, and loaded with the first call. */
export interface Services {
  /** True when the path is one of theirs; then the request is answered. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): boolean;
  /** Turns a request into a stream, or refuses it. */
  upgrade(request: IncomingMessage, client: Duplex, head: Buffer, url: URL): void;
  /** Ends every running process at once. */
  killAll(): void;
}

export function createServices(deps: ServicesDeps): Services {
  const { context, pipes, terminals } = deps;
  const session = context.singleUser === undefined;
  const shells = new WaitingShells({
    pipes,
    start: (identity, ends) => spawnShell(identity, { session }, ends, terminals),
  });
  const budget = new OutputBudget();
  const table = new ProcessTable(budget);
  const kill = (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal);
  const rpc = createConnectRoutes((router) => {
    registerFilesystem(router, context);
    router.service(
      Process,
      createProcessService({
        ...deps,
        shells,
        table,
        budget,
        room: createHeapRoom(),
        daemonPath: process.env.PATH,
        kill,
      }),
    );
  });
  const files = createFileRoutes(context);
  const garbage = createGarbageDuty();
  return {
    handle(request, response, path) {
      garbage.note();
      return rpc.handle(request, response, path) || files.handle(request, response, path);
    },
    upgrade(request, client, head, url) {
      garbage.note();
      void upgradeRequest(context, request, client, head, url);
    },
    killAll() {
      shells.close();
      for (const { pid } of table.running()) tryKill(pid);
    },
  };
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
