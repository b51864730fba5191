import type { Transport } from '@connectrpc/connect';
import { onDemand } from './on-demand.js';

/** Sends a request: `fetch`, or something with the same manners. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
  /** Default: the global `fetch` at the moment of each call. */
  fetch?: FetchFunction | undefined;
  /**
   * Whether request bodies may be streamed. Default: yes outside browsers. Without it, the messages of a
   * client-streaming call are collected and sent as one body when the stream ends.
   */
  streamRequests?: boolean | undefined;
  /** Largest message that is read, bytes. Default 4 GiB. */
  readMaxBytes?: number | undefined;
}

/** A Connect transport over `fetch` with the JSON codec. Its code loads on the first call. */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  return onDemand(() => import('./fetch-connect.js').then((module) => module.createFetchConnect(options)));
}
