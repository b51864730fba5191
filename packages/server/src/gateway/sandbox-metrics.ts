import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Route } from './contract.js';
import { cleanPath } from './internal-route.js';
import { sameSecret } from './secrets.js';

/**
 * Whether the gateway answers a request for the daemon's metrics itself: the daemon does not see its sandbox's limits, and
 * would tell those of the machine. What the token does not open is left to the daemon to refuse.
 */
export function wantsMetrics(req: IncomingMessage, route: Route, url: string): boolean {
  if (req.method !== 'GET' || route.metrics === undefined || cleanPath(url) !== '/metrics') return false;
  if (route.daemon === undefined) return true;
  return sameSecret(req.headers['x-access-token']?.toString(), route.daemon.clientToken);
}

/** Answers with one sample, taken now. @wire GET /metrics */
export async function sendMetrics(res: ServerResponse, route: Route): Promise<void> {
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
