import type { Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { DefaultTransportOptions } from './default-transport.js';

/** Node's transport: HTTP/1.1, JSON, nothing compressed (output of programs costs more to pack than to send). */
export function createPlatformTransport(options: DefaultTransportOptions): Transport {
  return createConnectTransport({
    baseUrl: options.baseUrl,
    httpVersion: '1.1',
    useBinaryFormat: false,
    acceptCompression: [],
  });
}
