import { Code, ConnectError } from '@connectrpc/connect';
import type { UniversalClientFn } from '@connectrpc/connect/protocol';
import { collect } from './collect.js';
import type { FetchFunction } from './options.js';

/** Makes the HTTP client that Connect needs, over `fetch`. The caller's signal goes to `fetch` itself. */
export function createFetchHttpClient(send: FetchFunction, streamBody: boolean): UniversalClientFn {
  return async (request) => {
    const init: RequestInit & { duplex?: 'half' } = { method: request.method, headers: request.header };
    if (request.signal) init.signal = request.signal;
    if (request.body && streamBody) {
      init.body = streamOf(request.body);
      init.duplex = 'half';
    } else if (request.body) {
      init.body = await collect(request.body);
    }
    const response = await send(request.url, init).catch((error: unknown) => {
      request.signal?.throwIfAborted();
      throw new ConnectError(
        error instanceof Error ? error.message : String(error),
        Code.Unavailable,
        undefined,
        undefined,
        error,
      );
    });
    return {
      status: response.status,
      header: response.headers,
      body: bodyOf(response),
      trailer: new Headers(),
    };
  };
}

async function* bodyOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return;
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    ended = true;
  } finally {
    if (!ended) await reader.cancel().catch(() => {});
  }
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value as Uint8Array<ArrayBuffer>);
    },
    async cancel(reason) {
      await iterator.throw?.(reason).catch(() => {});
    },
  });
}
