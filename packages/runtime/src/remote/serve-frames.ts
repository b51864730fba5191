import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Driver as DriverService, FailureSchema } from '../gen/driver/driver_pb.js';
import { FRAME, FrameReader, frameOf } from './frames.js';
import type { CallContext, DriverHandlers } from './handlers.js';
import { failureToWire } from './wire.js';

/** Name of the protocol that connections are upgraded to. */
export const CALLS_PROTOCOL = 'svc-calls';
/** Calls of one connection that may run at once; the next are read when some are done. */
const MAX_CALLS = 1_024;

/** The handlers of calls with one request and one answer, by the method's name. */
export type FrameCalls = ReadonlyMap<
  string,
  (request: Uint8Array, context: CallContext) => Promise<Uint8Array>
>;

/** Makes the answers to calls that arrive in frames. */
export function frameCalls(handlers: Partial<DriverHandlers>): FrameCalls {
  return new Map(
    DriverService.methods
      .filter(({ methodKind }) => methodKind === 'unary')
      .map(({ name, localName, input, output }) => {
        const handler = handlers[localName as keyof DriverHandlers] as (
          request: unknown,
          context: CallContext,
        ) => Promise<MessageInitShape<typeof output>>;
        return [
          name,
          async (request, context) =>
            toBinary(output, create(output, await handler(fromBinary(input, request), context))),
        ];
      }),
  );
}

/** Answers the calls of a connection, see `FrameTransport`, until it closes. Anything but a call ends the connection. */
export function serveFrames(socket: Duplex, calls: FrameCalls): void {
  const frames = new FrameReader();
  const lost = new AbortController();
  setMaxListeners(0, lost.signal);
  let running = 0;
  socket.once('close', () => lost.abort());
  socket.on('error', () => socket.destroy());
  const answer = async (call: number, payload: Uint8Array) => {
    const nameEnd = 1 + (payload[0] ?? 0);
    const found = calls.get(Buffer.from(payload.subarray(1, nameEnd)).toString());
    let kind: number = FRAME.answer;
    let bytes: Uint8Array;
    try {
      if (found === undefined) throw new Error('there is no such call');
      bytes = await found(payload.subarray(nameEnd), { signal: lost.signal });
    } catch (error) {
      kind = FRAME.failure;
      bytes = toBinary(FailureSchema, create(FailureSchema, failureToWire(error, lost.signal.aborted)));
    }
    if (!socket.destroyed) socket.write(frameOf(call, kind, bytes));
  };
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const { call, kind, payload } of frames.read(chunk)) {
        if (kind !== FRAME.call) throw new RangeError('only calls are expected');
        running += 1;
        if (running === MAX_CALLS) socket.pause();
        void answer(call, payload).finally(() => {
          running -= 1;
          if (running === MAX_CALLS - 1) socket.resume();
        });
      }
    } catch {
      socket.destroy();
    }
  });
}
