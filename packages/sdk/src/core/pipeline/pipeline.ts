import { Deadline, sleep } from '../deadline.js';
import { publish } from '../diagnostics.js';
import { ConnectionError, RequestTimeoutError } from '../errors/connection-errors.js';
import { errorFromNetwork, isNetworkFailure } from '../errors/from-network.js';
import { parseRetryAfter } from '../errors/rate-limit.js';
import type { Logger } from '../logger.js';
import { redactHeaders, redactUrl } from '../redact.js';
import { type AttemptOutcome, decideRetry, isRateLimited } from '../retry.js';
import type { CallContext } from './call-context.js';
import { chain, type Middleware } from './middleware.js';

/** Sends a request: the signature of the generated clients' `fetch` option. */
export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

export interface PipelineOptions {
  /** Sends the requests. Default: the global `fetch` at the moment of each call. */
  fetch?: Fetch | undefined;
  middleware?: readonly Middleware[] | undefined;
  logger: Logger & { readonly debugs: boolean };
  userAgent: string | undefined;
  /** Sent with every request to the platform. */
  headers: Record<string, string>;
  maxRetries: number;
  requestTimeoutMs: number;
  /** Between 0 and 1. Default: Math.random. */
  random?: (() => number) | undefined;
  /** ms since 1970. Default: Date.now. */
  now?: (() => number) | undefined;
}

/** A call that is open: its result, and the deadline that still listens to the caller. */
export interface OpenCall<T> {
  value: T;
  /** Its signal aborts what is still streaming. Restart it for an idle limit; release it at the end of the stream. */
  deadline: Deadline;
}

let lastCallId = 0;

/** Every HTTP request of a client passes here, in one order: identity, deadline, retry, logging, middleware, fetch. */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #now: () => number;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Runs a call: `work` sends its requests through the `fetch` it is given and reads what they answer. The time limit
   * covers all of it.
   * @throws RequestTimeoutError, ConnectionError, and whatever the caller's signal was aborted with.
   */
  async call<T>(context: CallContext, work: (fetch: Fetch, signal: AbortSignal) => Promise<T>): Promise<T> {
    const { value, deadline } = await this.open(context, work);
    deadline.release();
    return value;
  }

  /** As `call`, but for a result that goes on streaming: the time limit ends with `work`, the caller's signal stays. */
  async open<T>(
    context: CallContext,
    work: (fetch: Fetch, signal: AbortSignal) => Promise<T>,
  ): Promise<OpenCall<T>> {
    const { logger } = this.#options;
    const record = { callId: ++lastCallId, operation: context.operation, service: context.service };
    const run = { record, attempts: 0, waitedMs: 0, startedAt: performance.now() } as Run;
    const limitMs = context.options?.requestTimeoutMs ?? this.#options.requestTimeoutMs;
    const deadline = new Deadline({
      signal: context.options?.signal,
      timeoutMs: limitMs,
      onTimeout: (limit) => requestTimeout(context.operation, limit),
    });
    publish('start', () => record);
    try {
      const value = await deadline.run((signal) =>
        work((request, init) => this.#send(request, init, context, run, deadline), signal),
      );
      deadline.restart(0);
      publish('end', () => summary(run));
      return { value, deadline };
    } catch (thrown) {
      deadline.release();
      const broken = !deadline.signal.aborted && isNetworkFailure(thrown);
      const error = broken ? errorFromNetwork(thrown, { ...context, url: run.url ?? '' }) : thrown;
      logger.info(`${context.operation} failed`, {
        ...record,
        attempts: run.attempts,
        error: messageOf(error),
      });
      publish('error', () => ({ ...summary(run), error }));
      throw error;
    }
  }

  /** A `fetch` that passes through the pipeline as a call of its own; the time limit ends with the headers. */
  fetchFor(context: Omit<CallContext, 'operation'> & { operation?: string }): Fetch {
    return async (request, init) => {
      const operation = context.operation ?? `${request.method} ${new URL(request.url).pathname}`;
      const signal = init?.signal ?? request.signal;
      const options = { ...context.options, signal };
      const { value, deadline } = await this.open({ ...context, operation, options }, (fetch) =>
        fetch(request, init),
      );
      if (!value.body) deadline.release();
      return value;
    };
  }

  async #send(
    original: Request,
    init: RequestInit | undefined,
    context: CallContext,
    run: Run,
    deadline: Deadline,
  ): Promise<Response> {
    const { signal } = deadline;
    const { logger, maxRetries, middleware = [], random = Math.random } = this.#options;
    this.#identify(original, context);
    const idempotent = context.idempotent ?? isIdempotent(original);
    const retries = context.options?.maxRetries ?? maxRetries;
    /** Attempts that a rate limit refused: they did nothing, so they use up no retry. */
    let refused = 0;
    for (let attempt = 1; ; attempt++) {
      run.attempts++;
      context.onAttempt?.(attempt - refused);
      // A body can be sent once, and middleware may change what it gets: what may be sent again is sent as a copy.
      const copied = retries > 0 && (original.body !== null || middleware.length > 0);
      const request = copied ? original.clone() : original;
      const outcome = await this.#attempt(request, init, context, run, attempt, signal);
      const failure: AttemptOutcome | undefined =
        outcome instanceof Response
          ? this.#readFailure(outcome)
          : { kind: 'connection', unsent: outcome.unsent };
      const decision =
        failure &&
        decideRetry({
          outcome: failure,
          attempts: attempt,
          refused,
          maxRetries: retries,
          idempotent,
          remainingMs: deadline.remainingMs,
          random: random(),
        });
      if (!decision?.retry) {
        if (outcome instanceof Response) return outcome;
        throw outcome;
      }
      if (failure && isRateLimited(failure)) refused++;
      const { delayMs } = decision;
      const status = outcome instanceof Response ? { status: outcome.status } : { error: outcome };
      logger.info(`${context.operation}: attempt ${attempt} failed, next in ${delayMs} ms`, {
        ...run.record,
        ...(outcome instanceof Response ? status : { error: outcome.message }),
      });
      publish('retry', () => ({ ...run.record, attempt, delayMs, ...status }));
      // Not awaited: where a middleware cloned the answer, cancelling waits for the clone.
      if (outcome instanceof Response) outcome.body?.cancel().catch(() => {});
      await sleep(delayMs, signal);
      run.waitedMs += delayMs;
    }
  }

  #identify(request: Request, context: CallContext): void {
    const { userAgent, headers } = this.#options;
    if (userAgent !== undefined) request.headers.set('User-Agent', userAgent);
    if (context.service !== 'platform') return;
    for (const [name, value] of Object.entries(headers)) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
  }

  /** One attempt: an answer of any status, or the connection's failure. Errors of middleware and aborts are thrown. */
  async #attempt(
    request: Request,
    init: RequestInit | undefined,
    context: CallContext,
    run: Run,
    attempt: number,
    signal: AbortSignal,
  ): Promise<Response | ConnectionError> {
    const { logger, middleware = [] } = this.#options;
    const { operation, service } = context;
    const send: Fetch = this.#options.fetch ?? ((sent, sentInit) => globalThis.fetch(sent, sentInit));
    const startedAt = performance.now();
    run.attemptedAt = startedAt;
    run.answeredAt = undefined;
    run.status = undefined;
    run.url = request.url;
    if (logger.debugs) {
      logger.debug(`${operation}: ${request.method} ${redactUrl(request.url)}`, {
        ...run.record,
        attempt,
        headers: redactHeaders(request.headers),
      });
    }
    const last = async (sent: Request): Promise<Response> => {
      try {
        return await send(sent, { ...init, signal });
      } catch (error) {
        signal.throwIfAborted();
        throw errorFromNetwork(error, { operation, url: sent.url, service });
      }
    };
    try {
      const response = await chain(middleware, { operation, service, attempt, signal }, last)(request);
      run.answeredAt = performance.now();
      run.status = response.status;
      const headersMs = run.answeredAt - startedAt;
      const requestId = response.headers.get('x-request-id') ?? undefined;
      if (logger.debugs) {
        const headers = redactHeaders(response.headers);
        logger.debug(`${operation}: ${response.status}`, {
          ...run.record,
          attempt,
          requestId,
          headersMs,
          headers,
        });
      }
      publish('response', () => ({ ...run.record, attempt, status: response.status, requestId, headersMs }));
      return response;
    } catch (error) {
      signal.throwIfAborted();
      if (ConnectionError.is(error)) return error;
      throw error;
    }
  }

  #readFailure(response: Response): AttemptOutcome | undefined {
    if (response.status < 400) return undefined;
    const retryAfterMs = parseRetryAfter(response.headers, this.#now());
    return { kind: 'answer', status: response.status, retryAfterMs };
  }
}

interface Run {
  record: { callId: number; operation: string; service: CallContext['service'] };
  attempts: number;
  waitedMs: number;
  startedAt: number;
  attemptedAt: number | undefined;
  answeredAt: number | undefined;
  status: number | undefined;
  url: string | undefined;
}

function summary(run: Run) {
  const now = performance.now();
  const { record, attempts, waitedMs, startedAt, attemptedAt, answeredAt, status } = run;
  return {
    ...record,
    attempts,
    waitedMs,
    totalMs: now - startedAt,
    headersMs: answeredAt === undefined || attemptedAt === undefined ? undefined : answeredAt - attemptedAt,
    bodyMs: answeredAt === undefined ? undefined : now - answeredAt,
    status,
  };
}

function isIdempotent(request: Request): boolean {
  return /^(GET|HEAD|PUT|DELETE|OPTIONS)$/.test(request.method) || request.headers.has('idempotency-key');
}

/** The error of a call that took too long. */
export function requestTimeout(operation: string, limitMs: number): RequestTimeoutError {
  return new RequestTimeoutError(
    `${operation}: no result within ${limitMs} ms. Raise requestTimeoutMs (0 removes the limit), for this call or for the client.`,
    { option: 'requestTimeoutMs', limitMs, operation },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
