import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createApi } from '../api/app.js';
import { ConnectionGuard } from '../api/limits/connections.js';
import { startHeartbeat } from '../cluster/fleet/heartbeat.js';
import { registerNodeCalls } from '../cluster/fleet/node-calls.js';
import { NodeForwarder } from '../cluster/nodes/forwarder.js';
import { nodeRouting } from '../cluster/routing/answer.js';
import type { ResolvedSettings } from '../config/config.js';
import { DashboardSessions } from '../operator/dashboard/sessions.js';
import {
  backlogMetrics,
  connectionMetrics,
  egressMetrics,
  gatewayMetrics,
  nodeMetrics,
  processMetrics,
  tracingMetrics,
} from '../operator/metrics/readings.js';
import { measureApi, traceApi } from '../operator/observe-api.js';
import { createOperatorApi } from '../operator/operator-api.js';
import { type OperatorServer, startOperatorServer } from '../operator/operator-server.js';
import { diskMetrics, driverMetrics, sandboxMetrics, statusOf } from '../operator/status.js';
import type { RecoveryReport } from '../sandboxes/recovery/recover.js';
import { registerVolumeContent } from '../volumes/content/routes.js';
import { connectionLimits, openFileLimit } from './connection-limits.js';
import { createGatewayServer } from './gateway.js';
import { handlers } from './handlers.js';
import { listen } from './listen.js';
import { OpenRequests } from './open-requests.js';
import type { Stored } from './open-stored.js';
import type { Unwind } from './unwind.js';

interface Listeners {
  apiUrl: string;
  operator: OperatorServer | undefined;
}

/** The third phase of a start: listens on every port, and says so to the other nodes. */
export async function openListeners(
  options: ResolvedSettings,
  stored: Stored,
  recovery: RecoveryReport,
  unwind: Unwind,
): Promise<Listeners> {
  const { context, lifecycle } = stored;
  const { config, log, metrics, tracer } = context;
  const { host, drainMs, validateResponses } = options;
  const limits = connectionLimits(options.tuning.connections, await openFileLimit());
  const guards = {
    api: new ConnectionGuard(limits.api),
    gateway: new ConnectionGuard(limits.gateway),
    operator: new ConnectionGuard(limits.operator),
  };
  const forwarder = new NodeForwarder(context);
  const { certificates } = stored;
  const scheme = certificates === undefined ? 'http' : 'https';
  const gatewayServer = createGatewayServer(context, forwarder, options, guards.gateway, certificates);
  const { gateway } = gatewayServer;
  lifecycle.gateway = gateway;
  const sandboxUrl = await listen(gatewayServer.server, host, options.sandboxPort, scheme);
  config.sandboxUrl = options.publicSandboxUrl ?? sandboxUrl;
  unwind.add('gateway', () => closeGateway(gatewayServer));

  const api = createApi({
    context,
    handlers,
    routing: nodeRouting(context, forwarder),
    beforeRoutes: (app) => {
      if (tracer !== undefined) traceApi(app, tracer);
      if (metrics !== undefined) measureApi(app, metrics);
    },
    routesBeside: (app) => {
      registerVolumeContent(app, context, forwarder, guards.api);
      registerNodeCalls(app, context, forwarder);
    },
    validateResponses,
    draining: () => context.draining(),
    connections: guards.api,
    certificates,
  });
  await api.ready();
  certificates?.follow(api.server);
  guards.api.watch(api.server);
  const apiRequests = new OpenRequests();
  api.server.on('request', (req, res) => {
    // Later requests are refused at once, and not waited for.
    if (!lifecycle.draining) apiRequests.track(req, res);
  });
  const apiUrl = await listen(api.server, host, options.apiPort, scheme);
  config.apiUrl = options.publicApiUrl ?? apiUrl;
  unwind.add('api', async () => {
    // Both listen on, to answer that the server stops, until the work under way has ended.
    await Promise.all([
      apiRequests.drained(drainMs),
      gatewayServer.open.drained(drainMs, () => gateway.stats.openUpgrades),
    ]);
    await Promise.all([closeServer(api.server), closeGateway(gatewayServer)]);
    await api.close();
  });

  if (context.nodes.shared) {
    const stopHeartbeat = await startHeartbeat(context, {
      apiUrl: options.nodeApiUrl ?? apiUrl,
      sandboxUrl: options.nodeSandboxUrl ?? sandboxUrl,
    });
    unwind.add('heartbeat', stopHeartbeat);
  }

  const startedAtMs = context.now();
  const { openMetrics } = stored;
  const sessions = new DashboardSessions(context.now);
  const operatorApi = createOperatorApi({
    context: { ...context, dashboard: sessions },
    token: stored.operatorToken,
    validateResponses,
  });
  const operator =
    options.operatorPort === false || openMetrics === undefined
      ? undefined
      : await startOperatorServer(
          {
            metrics: async () =>
              openMetrics.show([
                ...(await sandboxMetrics(context)),
                ...(await backlogMetrics(context)),
                ...(await diskMetrics(context)),
                ...driverMetrics(context),
                ...(await nodeMetrics(context)),
                ...egressMetrics(context),
                ...gatewayMetrics(gateway.stats),
                ...connectionMetrics({
                  api: guards.api.counts,
                  gateway: guards.gateway.counts,
                  operator: guards.operator.counts,
                }),
                ...processMetrics(),
                ...tracingMetrics(context.tracer?.counts),
              ]),
            status: () => statusOf(context, stored.opened.why, startedAtMs, recovery),
            operations: operatorApi,
            dashboard: onFirstUse(async () =>
              (await import('../operator/dashboard/dashboard.js')).createDashboard({
                context,
                sessions,
                token: stored.operatorToken,
                operatorApi,
                api: api.server,
                gateway: gatewayServer.server,
                onTrusted: (req) => guards.operator.trust(req.socket),
              }),
            ),
            onError: (error) => log.error({ err: error }, 'the operator port failed'),
            guard: guards.operator,
          },
          { host, port: options.operatorPort },
        );
  if (operator !== undefined) unwind.add('operator', () => operator.close());
  // A certificate is for a name: what this machine uses too, where there is one.
  return { apiUrl: certificates === undefined ? apiUrl : config.apiUrl, operator };
}

type Listener = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Makes what answers requests when the first one comes: most servers never get one. */
function onFirstUse(make: () => Promise<Listener>): Listener {
  let made: Promise<Listener> | undefined;
  return async (req, res) => {
    made ??= make();
    return (await made)(req, res);
  };
}

/** Closes a server and breaks off what is still under way. */
async function closeServer(server: HttpServer): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/**
 * Closes the gateway. Open exchanges break off without an answer: the sandbox continues, so that no answer would be
 * true, and clients look for their programs again.
 */
async function closeGateway({
  server,
  gateway,
  forwarder,
  guard,
}: ReturnType<typeof createGatewayServer>): Promise<void> {
  const closed = closeServer(server);
  // Upgraded connections are no longer the server's to close, but it waits for them.
  void gateway.close();
  forwarder.close();
  guard.closeAll();
  await closed;
}
