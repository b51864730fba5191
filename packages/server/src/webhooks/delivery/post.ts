import { Agent, type Dispatcher, request } from 'undici';
import { anyOf } from '#support/any-of';
import {
  assertPublicHost,
  ForbiddenAddressError,
  publicLookup,
} from '../../network/outbound/public-lookup.js';
import { lookupHost } from '../../network/outbound/resolve-host.js';

export type ErrorClass =
  | 'http_error'
  | 'dns_error'
  | 'timeout'
  | 'transport_error'
  | 'request_error'
  | 'canceled';

export interface PostResult {
  ok: boolean;
  status?: number;
  headers?: Record<string, string>;
  /** At most 64 KiB of it. */
  body?: string;
  errorClass?: ErrorClass;
  errorMessage?: string;
}

export interface PostOptions {
  signal: AbortSignal;
  /** Asked right before the first byte, with the connection made: nothing is sent when it says no, and the result is `canceled`. */
  mayStart(): boolean;
}

export interface Poster {
  /** Sends one POST and never throws. Redirects are answers like any other. */
  post(url: string, headers: Record<string, string>, body: string, options: PostOptions): Promise<PostResult>;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 65_536;

/**
 * Each exchange has a connection of its own: one receiver that does not answer keeps no other webhook of its host waiting.
 * @param options.timeoutMs for the whole exchange.
 */
export function createPoster(options: { allowPrivateAddresses: boolean; timeoutMs: number }): Poster {
  const agent = new Agent({
    connect: {
      lookup: options.allowPrivateAddresses ? lookupHost : publicLookup,
      timeout: options.timeoutMs,
    },
    keepAliveTimeout: 4_000,
  });
  return {
    async post(url, headers, body, { signal, mayStart }) {
      const timeout = AbortSignal.timeout(options.timeoutMs);
      try {
        if (!options.allowPrivateAddresses) assertPublicHost(new URL(url).hostname);
        const response = await request(url, {
          method: 'POST',
          headers,
          body,
          dispatcher: agent.compose(askFirst(mayStart)),
          signal: anyOf([signal, timeout]),
        });
        const text = await readStart(response.body);
        const ok = response.statusCode >= 200 && response.statusCode < 300;
        return {
          ok,
          status: response.statusCode,
          headers: flatten(response.headers),
          body: text,
          ...(ok
            ? {}
            : { errorClass: 'http_error' as const, errorMessage: `answered ${response.statusCode}` }),
        };
      } catch (error) {
        return {
          ok: false,
          ...classify(error, {
            timedOut: timeout.aborted,
            canceled: signal.aborted || error instanceof TooLateError,
          }),
        };
      }
    },
    close: () => agent.destroy(),
  };
}

class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/** Fails a request between its connection and its first byte unless it may start. */
function askFirst(mayStart: () => boolean): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      if (!mayStart()) throw new TooLateError('the lease of the delivery has run out');
      start?.(controller, context);
    };
    return dispatch(options, handler);
  };
}

async function readStart(body: AsyncIterable<Uint8Array> & { destroy(): void }): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString('utf8');
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

function classify(
  error: unknown,
  state: { timedOut: boolean; canceled: boolean },
): { errorClass: ErrorClass; errorMessage: string } {
  if (state.canceled)
    return { errorClass: 'canceled', errorMessage: 'the server stopped, or slept too long' };
  if (state.timedOut) return { errorClass: 'timeout', errorMessage: 'no full answer in time' };
  if (error instanceof ForbiddenAddressError)
    return {
      errorClass: 'request_error',
      errorMessage: 'the address is not public, which this server does not deliver to',
    };
  const code = String((error as { code?: unknown })?.code ?? '');
  if (['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA'].includes(code))
    return { errorClass: 'dns_error', errorMessage: 'the host name does not resolve' };
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return { errorClass: 'timeout', errorMessage: 'no connection in time' };
  return {
    errorClass: 'transport_error',
    errorMessage: code === '' ? 'the connection failed' : `the connection failed (${code})`,
  };
}
