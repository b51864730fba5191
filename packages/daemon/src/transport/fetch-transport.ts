import type { Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { createFetchHttpClient } from './fetch-http-client.js';

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
}

/** A Connect transport over `fetch` with the JSON codec. */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  const send: FetchFunction = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const over = (streamBody: boolean) =>
    createTransport({
      baseUrl: options.baseUrl,
      httpClient: createFetchHttpClient(send, streamBody),
      useBinaryFormat: false,
      interceptors: [],
      acceptCompression: [],
      sendCompression: null,
      compressMinBytes: Number.POSITIVE_INFINITY,
      readMaxBytes: 0xffffffff,
      writeMaxBytes: 0xffffffff,
    });
  const whole = over(false);
  const streamed = over(options.streamRequests ?? !('document' in globalThis));
  return {
    unary: whole.unary,
    // One message to send: as one body, which every fetch can do. A stream of messages: as the platform can.
    stream: (method, ...call) =>
      (method.methodKind === 'server_streaming' ? whole : streamed).stream(method, ...call),
  };
}
