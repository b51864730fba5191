import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { StopReason } from './contract.js';
import type { Exchange } from './exchanges.js';
import type { GatewayParts } from './parts.js';

/** Messages to clients of open streams, by the end of their sandbox. */
const messages: Readonly<Record<StopReason, string>> = {
  paused: 'The sandbox was paused',
  killed: 'The sandbox was killed',
  expired: 'The sandbox reached the end of its time to live and was killed',
  ended: 'The sandbox ended unexpectedly',
  unreachable: 'The sandbox cannot be reached through this server any more',
};

/** Lets an exchange be ended by the gateway's `close`, and the caller wait until its client has got the end. */
export function makeStoppable(
  { stats, settings }: Pick<GatewayParts, 'stats' | 'settings'>,
  exchange: Exchange,
  closing: Duplex | ServerResponse,
  stop: (message: string) => void,
): void {
  exchange.stop = (reason) => {
    stats.closedExchanges++;
    stop(messages[reason]);
    if (closing.destroyed) return Promise.resolve();
    return new Promise<void>((resolve) => {
      const timer = setTimeout(() => closing.destroy(), settings.drainMs);
      timer.unref();
      closing.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  };
}
