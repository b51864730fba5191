import createClient, { type Client } from 'openapi-fetch';
import { serializePath } from './path-guard.js';

export type { Client } from 'openapi-fetch';

/** Sends a request. Called with the `Request` and, when the caller gave one, its `signal` once more in `init`. */
export type FetchLike = (request: Request, init?: RequestInit) => Promise<Response>;

export interface OpenapiClientOptions {
  /** Scheme, host and port, with or without a trailing slash. */
  baseUrl: string;
  /** Sends the requests. Default: the global `fetch` at the moment of each call. */
  fetch?: FetchLike | undefined;
  /** Sent with every request; headers of one call win. `undefined` values are left out. */
  headers?: Record<string, string | undefined> | undefined;
}

/** A typed client over `fetch`: one call, one request. Decide by `response.ok`: `error` is absent for an empty body. */
export function createOpenapiClient<Paths extends object>(options: OpenapiClientOptions): Client<Paths> {
  const send: FetchLike = options.fetch ?? ((request, init) => globalThis.fetch(request, init));
  const { SignalledRequest, callerSignals } = rememberSignals();
  return createClient<Paths>({
    baseUrl: options.baseUrl,
    headers: options.headers ?? {},
    Request: SignalledRequest,
    fetch: (request: Request) => {
      const signal = callerSignals.get(request);
      return signal ? send(request, { signal }) : send(request);
    },
    pathSerializer: serializePath,
    bodySerializer: (body: unknown) => (isRaw(body) ? body : JSON.stringify(body)),
    // The wire takes lists as one value: state=running,paused.
    querySerializer: { array: { style: 'form', explode: false } },
  });
}

/**
 * A `Request` that remembers the caller's own signal. `request.signal` only follows it, and stops following once the
 * request is garbage collected, which may be in the middle of a response body. `fetch` gets the original instead.
 *
 * Made when a client is: naming `Request` makes Node load its HTTP client, too dear for an import.
 */
function rememberSignals() {
  const callerSignals = new WeakMap<Request, AbortSignal>();
  class SignalledRequest extends Request {
    constructor(input: RequestInfo | URL, init?: RequestInit) {
      super(input, rawInit(init));
      if (init?.signal) callerSignals.set(this, init.signal);
    }
  }
  return { SignalledRequest, callerSignals };
}

/** Bodies that are sent as they are instead of as JSON. */
function isRaw(body: unknown): body is Exclude<BodyInit, string> {
  return (
    [Blob, FormData, ReadableStream, ArrayBuffer].some((kind) => body instanceof kind) ||
    ArrayBuffer.isView(body)
  );
}

/** Labels bytes as bytes (openapi-fetch calls every body JSON), and lets a stream be sent while it is read. */
function rawInit(init: RequestInit | undefined): RequestInit | undefined {
  if (!isRaw(init?.body) || init.body instanceof FormData) return init;
  const headers = new Headers(init.headers);
  if (headers.get('Content-Type') === 'application/json')
    headers.set('Content-Type', 'application/octet-stream');
  const stream = init.body instanceof ReadableStream ? { duplex: 'half' } : {};
  return { ...init, ...stream, headers };
}
