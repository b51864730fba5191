import type { FastifyReply } from 'fastify';
import { errors } from './errors/catalog.js';

/**
 * Runs a handler under the request's time limit.
 * The signal aborts when time is up, when the client leaves, and when the server stops.
 * @throws {ApiError} 504 when time is up first.
 */
export async function withDeadline<T>(
  reply: FastifyReply,
  timeoutMs: number,
  stopping: AbortSignal,
  run: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const controller = new AbortController();
  const abort = (reason: unknown) => () => controller.abort(reason);
  const onClose = () => {
    if (!reply.raw.writableFinished) controller.abort(new Error('the client left'));
  };
  const onStop = abort(new Error('the server stops'));
  reply.raw.once('close', onClose);
  stopping.addEventListener('abort', onStop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = errors.requestTimeout();
      controller.abort(error);
      reject(error);
    }, timeoutMs);
    timer.unref();
  });
  try {
    return await Promise.race([Promise.resolve(run(controller.signal)), expired]);
  } finally {
    clearTimeout(timer);
    reply.raw.removeListener('close', onClose);
    stopping.removeEventListener('abort', onStop);
  }
}
