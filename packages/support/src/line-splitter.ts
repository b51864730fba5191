const MAX_LINE = 8_192;

/** Cuts bytes into lines of text; very long ones into pieces. A carriage return before the end is dropped. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  readonly #line: (text: string) => void;
  #rest = '';

  constructor(line: (text: string) => void) {
    this.#line = line;
  }

  push(bytes: Uint8Array): void {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** No more comes: an unfinished line is one too. */
  end(): void {
    this.#take(this.#decoder.decode());
    if (this.#rest !== '') this.#emit(this.#rest);
    this.#rest = '';
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emit(line);
    while (this.#rest.length > MAX_LINE) {
      this.#emit(this.#rest.slice(0, MAX_LINE));
      this.#rest = this.#rest.slice(MAX_LINE);
    }
  }

  #emit(line: string): void {
    this.#line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
