import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GatewayStats, Route } from './contract.js';
import { dialWithRetry, secure } from './dial.js';
import { hostName } from './host.js';
import type { GatewaySettings } from './settings.js';

/** Name for TLS: none for IP addresses, which it does not allow. */
function serverName(host: string | undefined): string | undefined {
  const name = hostName(host);
  return name === '' || /^\[|^[\d.]+$/.test(name) ? undefined : name;
}

export interface ConnectOptions {
  route: Route;
  port: number;
  /** Host that the service is shown. */
  host: string | undefined;
  signal: AbortSignal;
}

/** Opens counted connections into sandboxes, by TLS on the ports that speak it. */
export function createConnector(deps: {
  settings: GatewaySettings;
  now: () => number;
  stats: GatewayStats;
}): (options: ConnectOptions) => Promise<Duplex> {
  const { settings, now, stats } = deps;
  return async ({ route, port, host, signal }) => {
    stats.dials++;
    try {
      const stream = await dialWithRetry(route, port, {
        budgetMs: settings.dialBudgetMs,
        timeoutMs: settings.dialTimeoutMs,
        now,
        signal,
        onTry: (attempt) => {
          if (attempt > 1) stats.dialRetries++;
        },
      });
      stream.on('error', () => undefined);
      (stream as Partial<Socket>).setNoDelay?.(true);
      return route.httpsPorts.includes(port) ? await secure(stream, serverName(host)) : stream;
    } catch (error) {
      stats.dialFailures++;
      throw error;
    }
  };
}
