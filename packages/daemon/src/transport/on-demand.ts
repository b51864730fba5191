import type { Transport } from '@connectrpc/connect';

/** A transport that is loaded by its first call, so that importing this package stays cheap. */
export function onDemand(load: () => Promise<Transport>): Transport {
  let loading: Promise<Transport> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    unary: async (...call) => (await loaded()).unary(...call),
    stream: async (...call) => (await loaded()).stream(...call),
  };
}
