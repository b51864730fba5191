import type { Transport } from '@connectrpc/connect';
import { onDemand } from './on-demand.js';
import type { FetchTransportOptions } from './options.js';

/** A Connect transport over `fetch` with the binary codec. Its code loads on the first call. */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  return onDemand(() => import('./fetch-connect.js').then((module) => module.createFetchConnect(options)));
}
