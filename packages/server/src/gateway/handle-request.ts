import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admitted } from './admit.js';
import type { Route } from './contract.js';
import { forward } from './forward.js';
import { cleanPath } from './internal-route.js';
import type { GatewayParts } from './parts.js';
import { sameSecret } from './secrets.js';
import { shownRequest } from './shown-request.js';
import { watchSilence } from './silence.js';
import { makeStoppable } from './stoppable.js';

const silentMessage = 'The sandbox does not answer';

/** Counts a request until it ends, then gives its place back and logs it. */
function account(
  { stats, exchanges, log, now }: GatewayParts,
  req: IncomingMessage,
  res: ServerResponse,
  { target: { sandboxId, port }, exchange }: Admitted,
) {
  const startedAt = now();
  const sent = { request: 0, response: 0 };
  stats.openRequests++;
  res.once('close', () => {
    stats.openRequests--;
    exchanges.release(exchange);
    const durationMs = now() - startedAt;
    const fields = { sandboxId, port, method: req.method, status: res.statusCode, durationMs };
    log.debug({ ...fields, requestBytes: sent.request, responseBytes: sent.response }, 'request forwarded');
  });
  return {
    onReused: () => stats.reusedConnections++,
    onRequestBytes: (count: number) => {
      sent.request += count;
      stats.requestBytes += count;
    },
    onResponseBytes: (count: number) => {
      sent.response += count;
      stats.responseBytes += count;
    },
    onClientLeft: () => stats.clientAborts++,
    onUpstreamBroken: () => stats.upstreamAborts++,
  };
}

/** Sends an admitted request into its sandbox, or answers it where the gateway knows better than the daemon. */
export async function handleRequest(
  parts: GatewayParts,
  req: IncomingMessage,
  res: ServerResponse,
  admitted: Admitted,
  expectContinue: boolean,
): Promise<void> {
  const { deps, settings, pools, connect, refuse } = parts;
  const { route, target, exchange } = admitted;
  const { sandboxId, port, toDaemon } = target;
  const counted = account(parts, req, res, admitted);
  if (toDaemon && wantsMetrics(req, route, target.url)) {
    makeStoppable(parts, exchange, res, () => res.destroy());
    req.resume();
    return sendMetrics(res, route);
  }
  const { host, url, headers } = shownRequest(req, admitted, settings, { expectContinue });
  const agent = pools.agent({
    route,
    port,
    idleMs: toDaemon ? settings.daemonIdleMs : settings.serviceIdleMs,
    connect: (signal) => connect({ route, port, host, signal }),
  });
  // Other ports belong to programs that may answer when they like.
  const endWatch = toDaemon
    ? watchSilence({
        findRoute: () => deps.findRoute(sandboxId),
        port,
        waitMs: settings.silenceMs,
        probeMs: settings.healthMs,
        onSilent: () => forwarding.stop(silentMessage, 'daemon_silent'),
      })
    : () => undefined;
  res.once('close', endWatch);
  const forwarding = forward({
    req,
    res,
    agent,
    url,
    headers,
    expectContinue,
    refuse: (reason) => refuse(req, res, { reason, sandboxId, port }),
    onHead: endWatch,
    ...counted,
  });
  makeStoppable(parts, exchange, res, (message) => forwarding.stop(message, 'sandbox_stopped'));
}

/**
 * Returns whether the gateway answers a request for the daemon's metrics itself: the daemon does not see its sandbox's limits, and
 * would report those of the machine. The daemon refuses a request whose token opens nothing.
 */
function wantsMetrics(req: IncomingMessage, route: Route, url: string): boolean {
  if (req.method !== 'GET' || route.metrics === undefined || cleanPath(url) !== '/metrics') return false;
  if (route.daemon === undefined) return true;
  return sameSecret(req.headers['x-access-token']?.toString(), route.daemon.clientToken);
}

/** Answers with one sample, taken now. @wire GET /metrics */
async function sendMetrics(res: ServerResponse, route: Route): Promise<void> {
  const body = JSON.stringify(await route.metrics?.());
  res.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'Access-Control-Allow-Origin': '*',
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(body);
}
