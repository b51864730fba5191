import type { Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { createFetchHttpClient } from './fetch-http-client.js';
import { type FetchFunction, type FetchTransportOptions, MAX_MESSAGE_BYTES } from './options.js';

/** A Connect transport over `fetch` with the binary codec. */
export function createFetchConnect(options: FetchTransportOptions): Transport {
  const send: FetchFunction = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const over = (streamBody: boolean) =>
    createTransport({
      baseUrl: options.baseUrl,
      httpClient: createFetchHttpClient(send, streamBody),
      useBinaryFormat: true,
      interceptors: [],
      acceptCompression: [],
      sendCompression: null,
      compressMinBytes: Number.POSITIVE_INFINITY,
      readMaxBytes: options.readMaxBytes ?? MAX_MESSAGE_BYTES,
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
