import type { Transport } from '@connectrpc/connect';
import { createFetchConnect } from './fetch-connect.js';
import type { DefaultTransportOptions } from './options.js';

/** The transport of every platform that has `fetch` and is not Node. */
export function createPlatformTransport(options: DefaultTransportOptions): Transport {
  return createFetchConnect({ baseUrl: options.baseUrl, readMaxBytes: options.readMaxBytes });
}
