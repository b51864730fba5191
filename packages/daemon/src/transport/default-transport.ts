import type { Transport } from '@connectrpc/connect';
import { onDemand } from './on-demand.js';
import type { DefaultTransportOptions } from './options.js';

/**
 * The transport that suits where the program runs: Node's HTTP/1.1 client, on other platforms `fetch`. Its code loads on the
 * first call.
 */
export function createDefaultTransport(options: DefaultTransportOptions): Transport {
  return onDemand(() => import('#transport').then((platform) => platform.createPlatformTransport(options)));
}
