import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type { ProcessEventSchema } from '@svc/daemon/gen';
import type { ProcessEvent } from './process-event.js';
import type { Subscription } from './subscription.js';

type WireEvent = MessageInitShape<typeof ProcessEventSchema>;

/** Start, then the reader's events up to the end, with keepalives in silence. Closes the subscription. */
export async function* eventStream(
  pid: number,
  subscription: Subscription,
  context: Pick<HandlerContext, 'signal' | 'requestHeader'>,
): AsyncGenerator<WireEvent> {
  const { signal } = context;
  const leave = () => subscription.close();
  signal.addEventListener('abort', leave);
  try {
    const keepaliveMs = keepaliveInterval(context.requestHeader.get('keepalive-ping-interval'));
    yield { event: { case: 'start', value: { pid } } };
    while (true) {
      if (!(await subscription.wait(keepaliveMs))) {
        yield { event: { case: 'keepalive', value: {} } };
        continue;
      }
      if (signal.aborted) throw signal.reason;
      const event = subscription.shift();
      if (!event) return;
      yield toWire(event);
      if (event.kind === 'end') return;
    }
  } finally {
    signal.removeEventListener('abort', leave);
    subscription.close();
  }
}

/** Milliseconds between keepalives, from the header's seconds; 90 s when absent or senseless. */
export function keepaliveInterval(header: string | null): number {
  const seconds = /^\d{1,6}$/.test(header ?? '') ? Number(header) : 0;
  return (seconds || 90) * 1000;
}

function toWire(event: ProcessEvent): WireEvent {
  if (event.kind === 'end') return { event: { case: 'end', value: event.status } };
  return { event: { case: 'data', value: { output: { case: event.output, value: event.bytes } } } };
}
