import type { Transport } from '@connectrpc/connect';
import { onDemand } from '../transport/on-demand.js';
import type { DialTransportOptions } from './options.js';

/**
 * A Connect transport over connections that the caller opens, one for each call, with the bounds of `askDaemon` but
 * that streams last until their signal. The messages of a client-streaming call are sent when its stream ends. Its code
 * loads on the first call.
 */
export function createDialTransport(options: DialTransportOptions): Transport {
  return onDemand(() => import('./dial-connect.js').then((module) => module.createDialConnect(options)));
}
