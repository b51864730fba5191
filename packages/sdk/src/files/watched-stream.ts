import type { Deadline } from '../core/deadline.js';
import type { OperationObserver } from '../core/telemetry.js';
import { errorFromNetwork } from '../errors/from-network.js';

/**
 * A body as it comes, under a limit on each wait for more of it. The limit does not count while nobody reads. Ends the
 * deadline with the stream.
 */
export function watchedStream(
  body: ReadableStream<Uint8Array> | null,
  deadline: Deadline,
  options: {
    idleMs: number;
    operation: string;
    url: string;
    /** Gets the amounts that came, and the end. */
    observer: OperationObserver | undefined;
  },
): ReadableStream<Uint8Array> {
  const { idleMs, operation, url, observer } = options;
  let bytes = 0;
  const tellEnd = (end: { error?: unknown; aborted?: boolean } = {}) => {
    observer?.tell({ type: 'transfer', direction: 'received', bytes });
    observer?.tell({ type: 'end', ...end });
  };
  const reader = body?.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        deadline.restart(idleMs);
        try {
          const result = reader && (await deadline.run(() => reader.read()));
          deadline.restart(0);
          if (result && !result.done) {
            bytes += result.value.byteLength;
            return controller.enqueue(result.value);
          }
          deadline.release();
          tellEnd();
          controller.close();
        } catch (error) {
          const { aborted, reason } = deadline.signal;
          deadline.release();
          await reader?.cancel(error).catch(() => {});
          const failure = aborted ? reason : errorFromNetwork(error, { operation, url, service: 'sandbox' });
          tellEnd({ error: failure, aborted });
          controller.error(failure);
        }
      },
      async cancel(reason) {
        deadline.release();
        tellEnd();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
