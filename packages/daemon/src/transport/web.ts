import type { Transport } from '@connectrpc/connect';
import type { DefaultTransportOptions } from './default-transport.js';
import { createFetchTransport } from './fetch-transport.js';

/** The transport of every platform that has `fetch` and is not Node. */
export function createPlatformTransport(options: DefaultTransportOptions): Transport {
  return createFetchTransport({ baseUrl: options.baseUrl });
}
