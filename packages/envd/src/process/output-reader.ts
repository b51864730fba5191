import type { Readable } from 'node:stream';
import type { OutputKind, ProgramEvents } from './program.js';

/** Largest piece of output in one event, bytes. */
const CHUNK_BYTES: Readonly<Record<OutputKind, number>> = {
  stdout: 32 * 1024,
  stderr: 32 * 1024,
  pty: 16 * 1024,
};
/** Once released: how long the output may stay silent, and last at most, after the program's end, ms. */
const QUIET_MS = 20;
const RELEASE_LIMIT_MS = 1000;

/** Reads what a program prints, up to the end of every stream or until it is cut off after the program's end. */
export class OutputReader {
  #streams: { stream: Readable; kind: OutputKind }[] = [];
  readonly #events: ProgramEvents;
  readonly #onEnd: () => void;
  #open = 0;
  #exited = false;
  #released = false;
  #quiet: NodeJS.Timeout | undefined;
  #limit: NodeJS.Timeout | undefined;

  /** `onEnd` is called once: the program has ended (`exited`) and no more output will come. */
  constructor(events: ProgramEvents, onEnd: () => void) {
    this.#events = events;
    this.#onEnd = onEnd;
  }

  read(stream: Readable, kind: OutputKind): void {
    this.#streams.push({ stream, kind });
    this.#open++;
    stream.on('data', (bytes: Buffer) => this.deliver(kind, bytes));
    // A terminal whose last program ended reports an error instead of an end.
    stream.on('error', () => stream.destroy());
    stream.once('close', () => {
      this.#open--;
      this.#finish();
    });
  }

  deliver(kind: OutputKind, bytes: Uint8Array): void {
    const size = CHUNK_BYTES[kind];
    for (let at = 0; at < bytes.length; at += size) this.#events.output(kind, bytes.subarray(at, at + size));
    if (this.#exited && this.#released) this.#waitForQuiet();
  }

  pause(): void {
    for (const { stream } of this.#streams) stream.pause();
  }

  resume(): void {
    for (const { stream } of this.#streams) stream.resume();
  }

  /** The program itself has ended; others may still hold its output open. */
  exited(): void {
    this.#exited = true;
    if (this.#released) this.#startRelease();
    this.#finish();
  }

  /** Stops waiting for output soon after the program's end, even if another process holds it open. Nothing that the program printed is lost. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#exited) this.#startRelease();
  }

  #startRelease(): void {
    this.#limit = setTimeout(() => this.#cut(), RELEASE_LIMIT_MS);
    this.#waitForQuiet();
  }

  #waitForQuiet(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#cut(), QUIET_MS);
  }

  #cut(): void {
    for (const { stream } of this.#streams) stream.destroy();
  }

  #finish(): void {
    if (!this.#exited || this.#open > 0) return;
    clearTimeout(this.#quiet);
    clearTimeout(this.#limit);
    this.#streams = [];
    this.#onEnd();
  }
}
