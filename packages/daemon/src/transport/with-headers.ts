import type { Transport } from '@connectrpc/connect';

/** A transport that adds headers to every call; headers of the call win. */
export function withHeaders(transport: Transport, headers: Record<string, string | undefined>): Transport {
  const merge = (own: HeadersInit | undefined) => {
    const merged = new Headers(own);
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && !merged.has(name)) merged.set(name, value);
    }
    return merged;
  };
  return {
    unary: (method, signal, timeoutMs, header, input, context) =>
      transport.unary(method, signal, timeoutMs, merge(header), input, context),
    stream: (method, signal, timeoutMs, header, input, context) =>
      transport.stream(method, signal, timeoutMs, merge(header), input, context),
  };
}
