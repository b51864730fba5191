const END_OF_STREAM = 2;

/** Follows the envelopes of a Connect stream (flags byte, 32-bit length, payload) as its bytes pass by. */
export class EnvelopeTracker {
  #header = Buffer.alloc(5);
  #headerBytes = 0;
  #payloadLeft = 0;
  #ended = false;

  /** Takes the next bytes of the stream. */
  push(chunk: Uint8Array): void {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#payloadLeft > 0) {
        const step = Math.min(this.#payloadLeft, chunk.length - offset);
        this.#payloadLeft -= step;
        offset += step;
        continue;
      }
      this.#header[this.#headerBytes++] = chunk[offset++] ?? 0;
      if (this.#headerBytes < 5) continue;
      this.#headerBytes = 0;
      this.#payloadLeft = this.#header.readUInt32BE(1);
      if (((this.#header[0] ?? 0) & END_OF_STREAM) !== 0) this.#ended = true;
    }
  }

  /** True where a new frame may be written. */
  get atBoundary(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0;
  }

  /** True once the end-stream frame has passed whole. */
  get ended(): boolean {
    return this.#ended && this.atBoundary;
  }
}

/** Returns true for the content type of a Connect stream, whose end frame carries errors. */
export function isConnectStream(contentType: string | undefined): boolean {
  return /^application\/connect\+(?:json|proto)\s*(?:;|$)/i.test(contentType ?? '');
}

/** The end-stream frame by which a client learns that its sandbox went away. Its payload is JSON under every codec. */
export function unavailableFrame(message: string): Buffer {
  const payload = Buffer.from(JSON.stringify({ error: { code: 'unavailable', message } }));
  const head = Buffer.alloc(5);
  head[0] = END_OF_STREAM;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
