import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors } from './errors/catalog.js';

export interface BodyTimerOptions {
  /** Longest that a body may take to arrive, ms. */
  bodyReadMs: number;
  sendFailure(request: FastifyRequest, reply: FastifyReply, error: unknown): void;
}

/**
 * Bounds the time that a body may take to arrive: one that takes too long is refused; one that continues after its answer
 * ends the connection.
 */
export class BodyTimer {
  readonly #options: BodyTimerOptions;
  readonly #timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();

  constructor(options: BodyTimerOptions) {
    this.#options = options;
  }

  start(request: FastifyRequest, reply: FastifyReply): void {
    const { bodyReadMs, sendFailure } = this.#options;
    const timer = setTimeout(() => {
      if (request.raw.complete) return;
      if (reply.sent) {
        request.raw.destroy();
        return;
      }
      reply.raw.once('finish', () => request.raw.destroy());
      sendFailure(request, reply.header('Connection', 'close'), errors.requestTooSlow(bodyReadMs / 1_000));
    }, bodyReadMs);
    request.raw.once('close', () => clearTimeout(timer));
    this.#timers.set(request, timer);
  }

  /** The body is read, or there is none. */
  stop(request: FastifyRequest): void {
    clearTimeout(this.#timers.get(request));
  }
}
