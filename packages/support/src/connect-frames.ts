import type { Readable } from 'node:stream';

/** The frame that ends a stream, with its error. */
export const FLAG_END = 2;

export interface Frame {
  flags: number;
  bytes: Buffer;
  /** The payload as JSON. */
  json(): Record<string, unknown>;
}

/**
 * One frame of a Connect stream: flags, four bytes of big-endian length, payload. Bytes and text are sent as they are,
 * other things as JSON.
 */
export function frame(payload: unknown, flags = 0): Buffer<ArrayBuffer> {
  const bytes =
    payload instanceof Uint8Array
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  return Buffer.concat([frameHead(bytes.length, flags), bytes]);
}

/** Returns the head of a payload of `length` bytes. */
export function frameHead(length: number, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return head;
}

/** Cuts a body into frames. @throws {Error} when it ends inside of one. */
export function splitFrames(body: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at < body.length) {
    const end = at + 5 + (body.length - at < 5 ? Number.POSITIVE_INFINITY : body.readUInt32BE(at + 1));
    if (end > body.length)
      throw new Error(`the body ends inside a frame: ${body.subarray(at, at + 200).toString()}`);
    frames.push(toFrame(body[at]!, body.subarray(at + 5, end)));
    at = end;
  }
  return frames;
}

/** Frames of a body as they arrive. Ends with the body. */
export async function* readFrames(body: Readable): AsyncGenerator<Frame, void, undefined> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    pending = pending.length === 0 ? (chunk as Buffer) : Buffer.concat([pending, chunk as Buffer]);
    for (;;) {
      if (pending.length < 5) break;
      const end = 5 + pending.readUInt32BE(1);
      if (pending.length < end) break;
      yield toFrame(pending[0]!, pending.subarray(5, end));
      pending = pending.subarray(end);
    }
  }
  if (pending.length > 0) throw new Error('the body ends inside a frame');
}

function toFrame(flags: number, bytes: Buffer): Frame {
  return { flags, bytes, json: () => JSON.parse(bytes.toString('utf8')) as Record<string, unknown> };
}
