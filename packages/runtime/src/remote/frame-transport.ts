import type { Duplex } from 'node:stream';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { Transport, UnaryResponse } from '@connectrpc/connect';
import { FailureSchema } from '../gen/driver/driver_pb.js';
import { FRAME, type Frame, FrameReader, frameOf } from './frames.js';
import { CallFailure } from './wire.js';

interface Waiting {
  answer: (payload: Uint8Array) => void;
  fail: (error: Error) => void;
}

const NONE = new Headers();
const CALLS = 2 ** 32;

/**
 * Sends calls with one request and one answer over one connection, which is opened by the first and again after it broke. A
 * call in Connect's protocol costs both processes ten times as much. Signals do not end a call: that is what `Cancel` is for.
 * @param open the connection, as `serveFrames` has the other end.
 */
export class FrameTransport implements Pick<Transport, 'unary'> {
  readonly #open: () => Promise<Duplex>;
  readonly #waiting = new Map<number, Waiting>();
  #connection: Promise<Duplex> | undefined;
  #next = 0;

  constructor(open: () => Promise<Duplex>) {
    this.#open = open;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    _signal: AbortSignal | undefined,
    _timeoutMs: number | undefined,
    _header: HeadersInit | undefined,
    request: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const name = Buffer.from(method.name);
    const message = toBinary(method.input, create(method.input, request));
    const connection = await this.#connect();
    const call = this.#next;
    this.#next = (this.#next + 1) % CALLS;
    const payload = await new Promise<Uint8Array>((answer, fail) => {
      this.#waiting.set(call, { answer, fail });
      connection.write(frameOf(call, FRAME.call, Buffer.of(name.length), name, message));
    });
    const answer: MessageShape<O> = fromBinary(method.output, payload);
    return { stream: false, service: method.parent, method, header: NONE, trailer: NONE, message: answer };
  }

  /** Breaks the connection; calls under way fail. */
  end(): void {
    void this.#connection?.then((socket) => socket.destroy()).catch(() => undefined);
  }

  #connect(): Promise<Duplex> {
    this.#connection ??= this.#start().catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  async #start(): Promise<Duplex> {
    const socket = await this.#open();
    // It may have closed before anybody listened: who waits then waits for ever.
    if (socket.destroyed) throw new Error('the connection was closed');
    const frames = new FrameReader();
    let reason: Error | undefined;
    socket.on('error', (error) => {
      reason ??= error;
    });
    socket.once('close', () => {
      this.#connection = undefined;
      const lost = reason ?? new Error('the connection was closed');
      for (const { fail } of this.#waiting.values()) fail(lost);
      this.#waiting.clear();
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of frames.read(chunk)) this.#finish(frame);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    return socket;
  }

  #finish({ call, kind, payload }: Frame): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (kind === FRAME.failure) waiting?.fail(new CallFailure(fromBinary(FailureSchema, payload)));
    else waiting?.answer(payload);
  }
}
