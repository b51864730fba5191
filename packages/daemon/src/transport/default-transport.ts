import type { Transport } from '@connectrpc/connect';

export interface DefaultTransportOptions {
  /** Scheme, host and port. */
  baseUrl: string;
}

/**
 * The transport that suits where the program runs: Node's HTTP/1.1 client, elsewhere `fetch`. Its code loads on the
 * first call, so that importing this package stays cheap.
 */
export function createDefaultTransport(options: DefaultTransportOptions): Transport {
  let loading: Promise<Transport> | undefined;
  const load = () => {
    loading ??= import('#transport').then((platform) => platform.createPlatformTransport(options));
    return loading;
  };
  return {
    unary: async (...call) => (await load()).unary(...call),
    stream: async (...call) => (await load()).stream(...call),
  };
}
