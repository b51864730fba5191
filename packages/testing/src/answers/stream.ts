/** Faults of an answer on its way. */
export interface StreamOptions {
  /** Fires when the caller gave up: the body breaks off with its reason. */
  readonly signal: AbortSignal;
  /** Breaks the body off after so many bytes. */
  readonly cut?: { readonly afterBytes: number; readonly error: () => Error } | undefined;
  /** Called once the body was read, left or broken off; at once when there is none. */
  onEnd(): void;
}

/** The answer as it comes over a connection: its body follows the caller's signal. */
export function stream(response: Response, { signal, cut, onEnd }: StreamOptions): Response {
  if (!response.body) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  let left = cut?.afterBytes ?? Number.POSITIVE_INFINITY;
  let ended = false;
  let onAbort: (() => void) | undefined;
  const end = () => {
    if (ended) return;
    ended = true;
    if (onAbort) signal.removeEventListener('abort', onAbort);
    onEnd();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        onAbort = () => {
          controller.error(signal.reason);
          reader.cancel(signal.reason).catch(() => {});
          end();
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort);
      },
      async pull(controller) {
        try {
          // A pull that gives nothing is not repeated: pieces without a byte are passed over here.
          while (!ended) {
            if (left <= 0) {
              controller.error(cut?.error());
              reader.cancel().catch(() => {});
              return end();
            }
            const { done, value } = await reader.read();
            if (ended) return;
            if (done) {
              controller.close();
              return end();
            }
            const sent = value.subarray(0, left);
            left -= sent.byteLength;
            if (sent.byteLength > 0) return controller.enqueue(sent);
          }
        } catch (error) {
          if (ended) return;
          controller.error(error);
          end();
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
