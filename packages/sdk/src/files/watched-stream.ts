import type { Deadline } from '../core/deadline.js';
import { errorFromNetwork } from '../errors/from-network.js';

/**
 * A body as it comes, under a limit on each wait for more of it. The limit does not count while nobody reads. Ends the
 * deadline with the stream.
 */
export function watchedStream(
  body: ReadableStream<Uint8Array> | null,
  deadline: Deadline,
  options: { idleMs: number; operation: string; url: string },
): ReadableStream<Uint8Array> {
  const { idleMs, operation, url } = options;
  const reader = body?.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        deadline.restart(idleMs);
        try {
          const result = reader && (await deadline.run(() => reader.read()));
          deadline.restart(0);
          if (result && !result.done) return controller.enqueue(result.value);
          deadline.release();
          controller.close();
        } catch (error) {
          const { aborted, reason } = deadline.signal;
          deadline.release();
          await reader?.cancel(error).catch(() => {});
          controller.error(
            aborted ? reason : errorFromNetwork(error, { operation, url, service: 'sandbox' }),
          );
        }
      },
      async cancel(reason) {
        deadline.release();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
