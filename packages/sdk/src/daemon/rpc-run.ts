import type { ClientCore } from '../core/client-core.js';
import { publish } from '../core/diagnostics.js';
import { ConnectionError } from '../core/errors/connection-errors.js';
import { decideRetry } from '../core/retry.js';
import type { DaemonCallContext } from './daemon-connection.js';

let lastRpcId = 0;

/**
 * One RPC as others see it: its events and log lines, and whether it is tried again. Calls are numbered below zero, those
 * over plain HTTP above.
 */
export class RpcRun {
  readonly context: DaemonCallContext;
  readonly #core: ClientCore;
  readonly #record: { callId: number; operation: string; service: 'sandbox' };
  readonly #startedAt = performance.now();
  #attempts = 0;
  #waitedMs = 0;

  constructor(core: ClientCore, context: DaemonCallContext) {
    this.#core = core;
    this.context = context;
    this.#record = { callId: --lastRpcId, operation: context.operation, service: 'sandbox' };
    publish('start', () => this.#record);
  }

  /** An attempt is about to be made. */
  begin(): void {
    this.#attempts++;
    this.context.onAttempt?.(this.#attempts);
    const { logger } = this.#core;
    if (logger.debugs)
      logger.debug(`${this.context.operation}: RPC`, { ...this.#record, attempt: this.#attempts });
  }

  /** How long to wait before the next attempt, ms; undefined when there is to be none. */
  retryDelay(error: unknown): number | undefined {
    if (!ConnectionError.is(error)) return undefined;
    const { options, idempotent = false, operation } = this.context;
    const decision = decideRetry({
      outcome: { kind: 'connection', unsent: error.unsent },
      attempts: this.#attempts,
      maxRetries: options?.maxRetries ?? this.#core.config.maxRetries,
      idempotent,
      random: Math.random(),
    });
    if (!decision.retry) return undefined;
    const { delayMs } = decision;
    this.#core.logger.info(`${operation}: attempt ${this.#attempts} failed, next in ${delayMs} ms`, {
      ...this.#record,
      error: error.message,
    });
    publish('retry', () => ({ ...this.#record, attempt: this.#attempts, delayMs, error }));
    this.#waitedMs += delayMs;
    return delayMs;
  }

  /** It succeeded. Of a stream: its first message came. */
  end(): void {
    const { logger } = this.#core;
    if (logger.debugs) logger.debug(`${this.context.operation}: answered`, { ...this.#summary() });
    publish('end', () => this.#summary());
  }

  /** It failed. Gives the error back. */
  fail(error: unknown): unknown {
    publish('error', () => ({ ...this.#summary(), error }));
    this.#core.logger.info(`${this.context.operation} failed`, {
      ...this.#record,
      attempts: this.#attempts,
      error: error instanceof Error ? error.message : String(error),
    });
    return error;
  }

  #summary() {
    return {
      ...this.#record,
      attempts: this.#attempts,
      totalMs: performance.now() - this.#startedAt,
      waitedMs: this.#waitedMs,
      headersMs: undefined,
      bodyMs: undefined,
      status: undefined,
    };
  }
}
