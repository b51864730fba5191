import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import type { ProcessEventSchema } from '@svc/daemon/gen';
import type { ProcessEvent } from './process-event.js';
import type { RunningProcess } from './running-process.js';
import type { Subscription } from './subscription.js';

type WireEvent = MessageInitShape<typeof ProcessEventSchema>;

/**
 * Start, then the reader's events up to the end, with keepalives in silence. Closes the subscription. `numbered`: the
 * start tells the offset of what follows.
 */
export async function* eventStream(
  process: Pick<RunningProcess, 'pid' | 'description'>,
  subscription: Subscription,
  context: Pick<HandlerContext, 'signal' | 'requestHeader'>,
  numbered = false,
): AsyncGenerator<WireEvent> {
  const { signal } = context;
  const leave = () => subscription.close();
  signal.addEventListener('abort', leave);
  try {
    const keepaliveMs = keepaliveInterval(context.requestHeader.get('keepalive-ping-interval'));
    const start = { pid: process.pid, startedAt: timestampFromMs(process.description.startedAt) };
    const offset = numbered ? { offset: BigInt(subscription.offset) } : {};
    yield { event: { case: 'start', value: { ...start, ...offset } } };
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
