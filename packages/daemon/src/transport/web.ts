import type { Transport } from '@connectrpc/connect';
import type { DefaultTransportOptions } from './default-transport.js';
import { createFetchConnect } from './fetch-connect.js';

/** The transport of every platform that has `fetch` and is not Node. */
export function createPlatformTransport(options: DefaultTransportOptions): Transport {
  return createFetchConnect({ baseUrl: options.baseUrl });
}
