import type { Transport } from '@connectrpc/connect';
import { onDemand } from './on-demand.js';

export interface DefaultTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
  /**
   * Node only: open streams do not keep the program running. Whoever waits for something on a stream has to keep it
   * running by other means. Default false.
   */
  unrefStreams?: boolean | undefined;
}

/**
 * The transport that suits where the program runs: Node's HTTP/1.1 client, elsewhere `fetch`. Its code loads on the
 * first call.
 */
export function createDefaultTransport(options: DefaultTransportOptions): Transport {
  return onDemand(() => import('#transport').then((platform) => platform.createPlatformTransport(options)));
}
