import type { CallContext } from '../core/call-context.js';
import { Deadline, sleep } from '../core/deadline.js';
import { publish } from '../core/diagnostics.js';
import type { Logger } from '../core/logger.js';
import { type AttemptOutcome, decideRetry, isRateLimited } from '../core/retry.js';
import { type OperationObserver, observe, type Telemetry } from '../core/telemetry.js';
import { ConnectionError, RequestTimeoutError } from '../errors/connection-errors.js';

/** Settings that the calls of a client share. */
export interface CallEngineOptions {
  logger: Logger & { readonly debugs: boolean };
  maxRetries: number;
  requestTimeoutMs: number;
  /** Between 0 and 1. Default: Math.random. */
  random?: (() => number) | undefined;
  telemetry?: Telemetry | undefined;
}

/** The result of one attempt. */
export interface Attempt<T> {
  value: T;
  /** The service's refusal, when `value` is an answer that carries one. */
  failure?: Extract<AttemptOutcome, { kind: 'answer' }> | undefined;
  /** Releases the value, because another attempt follows. */
  discard?: (() => void) | undefined;
}

/** A call that is open: its result, and the deadline that still listens to the caller. */
export interface OpenCall<T> {
  value: T;
  /** Its signal aborts what is still streaming. Restart it for an idle limit; release it at the end of the stream. */
  deadline: Deadline;
}

/**
 * Runs every call of a client, HTTP and RPCs alike: one time limit, the attempts, events and log lines. How one attempt is
 * made is up to who calls: `HttpCaller` for HTTP, `DaemonConnection` for RPCs.
 */
export class CallEngine {
  readonly #options: CallEngineOptions;

  constructor(options: CallEngineOptions) {
    this.#options = options;
  }

  /**
   * Runs a call. The time limit covers all of `work`.
   * @throws RequestTimeoutError, what `work` throws, and the reason of the caller's signal.
   */
  async run<T>(context: CallContext, work: (call: RunningCall) => Promise<T>): Promise<T> {
    const { value, deadline } = await this.open(context, work);
    deadline.release();
    return value;
  }

  /** As `run`, but for a result that continues as a stream: the time limit ends with `work`, the caller's signal stays. */
  async open<T>(context: CallContext, work: (call: RunningCall) => Promise<T>): Promise<OpenCall<T>> {
    const call = new RunningCall(context, this.#options);
    const { deadline } = call;
    try {
      const value = await deadline.run(() => call.observer?.run(() => work(call)) ?? work(call));
      deadline.restart(0);
      publish('end', () => call.summary());
      call.end();
      return { value, deadline };
    } catch (error) {
      deadline.release();
      const facts = { ...call.record, attempts: call.attempts, error: messageOf(error) };
      this.#options.logger.info(`${context.operation} failed`, facts);
      publish('error', () => ({ ...call.summary(), error }));
      call.end(error);
      throw error;
    }
  }
}

let lastCallId = 0;

/** One call on its way. */
export class RunningCall {
  readonly context: CallContext;
  readonly deadline: Deadline;
  /** Fields that all its events and log lines carry. */
  readonly record: { callId: number } & Pick<CallContext, 'operation' | 'service'>;
  /** Follows the call; undefined when nobody wants to. */
  readonly observer: OperationObserver | undefined;
  /** Most further attempts after the first. */
  readonly maxRetries: number;
  /** Attempts made so far. */
  attempts = 0;
  readonly #options: CallEngineOptions;
  readonly #startedAt = performance.now();
  #waitedMs = 0;
  #attemptedAt = this.#startedAt;
  #answer: { at: number; status: number } | undefined;

  constructor(context: CallContext, options: CallEngineOptions) {
    const { operation, service } = context;
    const { signal, requestTimeoutMs, maxRetries } = context.options ?? {};
    this.context = context;
    this.#options = options;
    this.record = { callId: ++lastCallId, operation, service };
    this.maxRetries = maxRetries ?? options.maxRetries;
    this.deadline = new Deadline({
      signal,
      timeoutMs: requestTimeoutMs ?? options.requestTimeoutMs,
      onTimeout: (limitMs) => requestTimeout(operation, limitMs),
    });
    publish('start', () => this.record);
    this.observer =
      context.observer ?? observe(options.telemetry, { operation, service, ...context.sandbox });
  }

  /** Fires when the caller gives up or the time is over. */
  get signal(): AbortSignal {
    return this.deadline.signal;
  }

  /**
   * Makes attempts until one succeeds or there may be no other. `make` gets the number of the attempt, from 1; what may
   * lead to another one is a `failure` that it returns and a ConnectionError that it throws.
   * @throws what the last attempt threw
   */
  async attempt<T>(make: (attempt: number) => Promise<Attempt<T>>, idempotent: boolean): Promise<T> {
    /** Attempts that a rate limit refused: they did nothing, so they use up no retry. */
    let refused = 0;
    for (let attempt = 1; ; attempt++) {
      this.context.onAttempt?.(attempt - refused);
      const made = await this.#attemptOnce(make, attempt);
      const outcome = ConnectionError.is(made) ? outcomeOf(made) : made.failure;
      const decision =
        outcome &&
        decideRetry({
          outcome,
          attempts: attempt,
          refused,
          maxRetries: this.maxRetries,
          idempotent,
          remainingMs: this.deadline.remainingMs,
          random: (this.#options.random ?? Math.random)(),
        });
      if (!outcome || !decision?.retry) {
        if (ConnectionError.is(made)) throw made;
        return made.value;
      }
      if (isRateLimited(outcome)) refused++;
      await this.#wait(attempt, decision.delayMs, made);
    }
  }

  /** An answer of any status came. Gives the time since the start of the attempt. */
  answered(status: number): { headersMs: number } {
    this.#answer = { at: performance.now(), status };
    return { headersMs: this.#answer.at - this.#attemptedAt };
  }

  /** Fields that are published at its end. */
  summary() {
    const now = performance.now();
    const answer = this.#answer;
    return {
      ...this.record,
      attempts: this.attempts,
      waitedMs: this.#waitedMs,
      totalMs: now - this.#startedAt,
      headersMs: answer && answer.at - this.#attemptedAt,
      bodyMs: answer && now - answer.at,
      status: answer?.status,
    };
  }

  /** Reports the end to followers of the call, unless it is a part of something longer. */
  end(error?: unknown): void {
    if (this.context.observer) return;
    const aborted = this.context.options?.signal?.aborted === true;
    this.observer?.tell(error === undefined ? { type: 'end' } : { type: 'end', error, aborted });
  }

  async #attemptOnce<T>(
    make: (attempt: number) => Promise<Attempt<T>>,
    attempt: number,
  ): Promise<Attempt<T> | ConnectionError> {
    this.attempts++;
    this.#attemptedAt = performance.now();
    this.#answer = undefined;
    try {
      return await make(attempt);
    } catch (error) {
      this.signal.throwIfAborted();
      if (ConnectionError.is(error)) return error;
      throw error;
    }
  }

  async #wait(attempt: number, delayMs: number, made: Attempt<unknown> | ConnectionError): Promise<void> {
    const failed = ConnectionError.is(made);
    if (!failed) made.discard?.();
    const why = failed ? { error: made } : { status: made.failure?.status as number };
    const text = `${this.context.operation}: attempt ${attempt} failed, next in ${delayMs} ms`;
    this.#options.logger.info(text, { ...this.record, ...(failed ? { error: made.message } : why) });
    publish('retry', () => ({ ...this.record, attempt, delayMs, ...why }));
    this.observer?.tell({ type: 'retry', attempt, delayMs, ...why });
    await sleep(delayMs, this.signal);
    this.#waitedMs += delayMs;
  }
}

function outcomeOf(error: ConnectionError): AttemptOutcome {
  return { kind: 'connection', unsent: error.unsent };
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
