import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EnvdContext } from './context.js';
import { createGate } from './gate.js';
import { createLogRing } from './log-ring/log-ring.js';
import type { DaemonOptions } from './options.js';
import type { OpenTerminals } from './process/open-terminals.js';
import type { PipeSource } from './process/pipes.js';
import { createRequestHandler, createUpgradeHandler } from './request-handler.js';
import type { Services, ServicesDeps } from './services.js';
import { createTokenStore } from './token/token-store.js';
import { createUsers } from './users/index.js';

/** The part of the program that is loaded with the first call. */
export interface ServicesPart {
  createServices(deps: ServicesDeps): Services;
}

/** What there is once in a process, however many apps. */
export interface AppResources {
  pipes: PipeSource;
  terminals: OpenTerminals;
  loadServices(): ServicesPart;
}

export interface AppOptions extends Pick<DaemonOptions, 'singleUser'> {
  /** Settles once first calls are as fast as later ones. Default: at once. */
  warm?: () => Promise<void>;
}

/** Everything that answers requests, with state of its own. */
export interface App {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a request to speak something else than HTTP on its connection. */
  upgrade(request: IncomingMessage, client: Duplex, head: Buffer): void;
  /** Loads what the first call would load. */
  load(): void;
  /** Ends every running process at once. */
  killAll(): void;
}

export function createApp(options: AppOptions, resources: AppResources): App {
  const { singleUser, warm = async () => {} } = options;
  const { pipes, terminals } = resources;
  const context: EnvdContext = {
    users: createUsers(singleUser ? { singleUser } : {}),
    defaults: { user: singleUser ? 'user' : 'root', workdir: undefined },
    token: createTokenStore(),
    gate: createGate(),
    envVars: {},
    trustVars: {},
    ...(singleUser ? { singleUser } : {}),
    now: Date.now,
  };
  const logs = createLogRing(context.now);
  let loaded: Services | undefined;
  const services = (): Services => {
    loaded ??= resources.loadServices().createServices({ context, logs, pipes, terminals });
    return loaded;
  };
  const deps = { context, logs, services, warm };
  return {
    handle: createRequestHandler(deps),
    upgrade: createUpgradeHandler(deps),
    load: () => void services(),
    killAll: () => loaded?.killAll(),
  };
}
