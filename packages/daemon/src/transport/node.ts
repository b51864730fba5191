import type { Transport } from '@connectrpc/connect';
import { createTransport } from '@connectrpc/connect/protocol-connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { DefaultTransportOptions } from './default-transport.js';
import { sendWhole } from './node-http-client.js';

/** Node's transport: HTTP/1.1, JSON, nothing compressed (output of programs costs more to pack than to send). */
export function createPlatformTransport({ baseUrl }: DefaultTransportOptions): Transport {
  const common = { baseUrl, useBinaryFormat: false, acceptCompression: [] };
  const streamed = createConnectTransport({ ...common, httpVersion: '1.1' });
  const whole = createTransport({
    ...common,
    httpClient: sendWhole,
    interceptors: [],
    sendCompression: null,
    compressMinBytes: Number.POSITIVE_INFINITY,
    readMaxBytes: 0xffffffff,
    writeMaxBytes: 0xffffffff,
  });
  return {
    unary: whole.unary,
    stream: (method, ...call) =>
      (method.methodKind === 'server_streaming' ? whole : streamed).stream(method, ...call),
  };
}
