import type { FetchLike } from '@svc/daemon';
import { type Dispatcher, fetch as undiciFetch } from 'undici';

/** A `fetch` whose requests go through a dispatcher. Bodies are read whole: they are small here. */
export function fetchThrough(dispatcher: Dispatcher): FetchLike {
  return async (request, init) => {
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const signal = init?.signal ?? request.signal;
    const response = await undiciFetch(request.url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      body,
      signal,
      dispatcher,
      // A daemon sends nobody elsewhere.
      redirect: 'error',
    });
    return response as unknown as Response;
  };
}
