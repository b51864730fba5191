/** The input of a program: bytes in the order in which they were written, until it is closed. */
export class InputQueue {
  readonly #pieces: Uint8Array[] = [];
  #closed = false;
  #wake: (() => void) | undefined;

  get closed(): boolean {
    return this.#closed;
  }

  write(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#pieces.push(bytes.slice());
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** The next piece; undefined after the last one. */
  async take(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece || this.#closed) return piece;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Puts back what was taken too much. */
  putBack(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#pieces.unshift(bytes);
  }
}
