import type { CallContext } from '../core/call-context.js';
import { publish } from '../core/diagnostics.js';
import type { Logger } from '../core/logger.js';
import { chain, type Fetch, type Middleware } from '../core/middleware.js';
import { redactHeaders, redactUrl } from '../core/redact.js';
import type { OperationObserver } from '../core/telemetry.js';
import { errorFromNetwork, isNetworkFailure } from '../errors/from-network.js';
import { parseRetryAfter } from '../errors/rate-limit.js';
import type { Attempt, CallEngine, OpenCall, RunningCall } from './call-engine.js';

export interface HttpCallerOptions {
  engine: CallEngine;
  /** Sends the requests. Default: the global `fetch` at the moment of each call. */
  fetch?: Fetch | undefined;
  middleware?: readonly Middleware[] | undefined;
  logger: Logger & { readonly debugs: boolean };
  userAgent: string | undefined;
  /** Sent with every request to the platform. */
  headers: Record<string, string>;
  /** ms since 1970. Default: Date.now. */
  now?: (() => number) | undefined;
}

/** Work that sends its requests through the `fetch` it is given. */
type HttpWork<T> = (fetch: Fetch, observer?: OperationObserver) => Promise<T>;

/** Calls over HTTP: the engine runs them; here a request gets its headers, passes middleware, and is sent. */
export class HttpCaller {
  readonly #options: HttpCallerOptions;

  constructor(options: HttpCallerOptions) {
    this.#options = options;
  }

  /**
   * Runs a call: `work` sends its requests and reads what they answer. The time limit covers all of it.
   * @throws RequestTimeoutError, ConnectionError, and the reason of the caller's signal.
   */
  call<T>(context: CallContext, work: HttpWork<T>): Promise<T> {
    return this.#options.engine.run(context, (call) => this.#work(call, work));
  }

  /** As `call`, but for a result that continues as a stream: the time limit ends with `work`, the caller's signal stays. */
  open<T>(context: CallContext, work: HttpWork<T>): Promise<OpenCall<T>> {
    return this.#options.engine.open(context, (call) => this.#work(call, work));
  }

  /** A `fetch` whose requests are calls of their own; the time limit ends with the headers. */
  fetchFor(context: Omit<CallContext, 'operation'> & { operation?: string }): Fetch {
    return async (request, init) => {
      const operation = context.operation ?? `${request.method} ${new URL(request.url).pathname}`;
      const options = { ...context.options, signal: init?.signal ?? request.signal };
      const { value, deadline } = await this.open({ ...context, operation, options }, (fetch) =>
        fetch(request, init),
      );
      if (!value.body) deadline.release();
      return value;
    };
  }

  async #work<T>(call: RunningCall, work: HttpWork<T>): Promise<T> {
    let url = '';
    try {
      return await work((request, init) => {
        url = request.url;
        return this.#send(call, request, init);
      }, call.observer);
    } catch (error) {
      // A body that breaks off fails where `work` reads it.
      if (call.signal.aborted || !isNetworkFailure(error)) throw error;
      throw errorFromNetwork(error, { ...call.record, url });
    }
  }

  #send(call: RunningCall, original: Request, init: RequestInit | undefined): Promise<Response> {
    const { middleware = [] } = this.#options;
    this.#identify(original, call);
    // A body can be sent once, and middleware may change what it gets: what may be sent again is sent as a copy.
    const copied = call.maxRetries > 0 && (original.body !== null || middleware.length > 0);
    return call.attempt(
      (attempt) => this.#attempt(call, copied ? original.clone() : original, init, attempt),
      call.context.idempotent ?? isIdempotent(original),
    );
  }

  #identify(request: Request, { context, observer }: RunningCall): void {
    const { userAgent } = this.#options;
    if (userAgent !== undefined) request.headers.set('User-Agent', userAgent);
    if (observer) addMissing(request.headers, observer.headers);
    if (context.service === 'platform') addMissing(request.headers, this.#options.headers);
  }

  /** One attempt: an answer of any status. Throws a ConnectionError, or what middleware throws. */
  async #attempt(
    call: RunningCall,
    request: Request,
    init: RequestInit | undefined,
    attempt: number,
  ): Promise<Attempt<Response>> {
    const { logger, middleware = [], fetch: send = globalThis.fetch } = this.#options;
    const { record, signal } = call;
    const { operation, service } = record;
    if (logger.debugs) {
      const headers = redactHeaders(request.headers);
      const text = `${operation}: ${request.method} ${redactUrl(request.url)}`;
      logger.debug(text, { ...record, attempt, headers });
    }
    call.observer?.tell({ type: 'request', method: request.method, url: request.url });
    const last = async (sent: Request): Promise<Response> => {
      try {
        return await send(sent, { ...init, signal });
      } catch (error) {
        signal.throwIfAborted();
        throw errorFromNetwork(error, { operation, url: sent.url, service });
      }
    };
    const response = await chain(middleware, { operation, service, attempt, signal }, last)(request);
    const { status } = response;
    const { headersMs } = call.answered(status);
    const requestId = response.headers.get('x-request-id') ?? undefined;
    if (logger.debugs) {
      const headers = redactHeaders(response.headers);
      logger.debug(`${operation}: ${status}`, { ...record, attempt, requestId, headersMs, headers });
    }
    publish('response', () => ({ ...record, attempt, status, requestId, headersMs }));
    call.observer?.tell({ type: 'response', attempt, status, requestId });
    if (status < 400) return { value: response };
    // Not awaited: where a middleware cloned the answer, cancelling waits for the clone.
    const discard = () => void response.body?.cancel().catch(() => {});
    return { value: response, failure: this.#readFailure(response), discard };
  }

  #readFailure({ status, headers }: Response) {
    const retryAfterMs = parseRetryAfter(headers, (this.#options.now ?? Date.now)());
    return { kind: 'answer', status, retryAfterMs } as const;
  }
}

function addMissing(to: Headers, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) if (!to.has(name)) to.set(name, value);
}

function isIdempotent(request: Request): boolean {
  return /^(GET|HEAD|PUT|DELETE|OPTIONS)$/.test(request.method) || request.headers.has('idempotency-key');
}
