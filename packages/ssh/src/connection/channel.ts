import { message } from '../wire/message.js';
import { ProtocolError } from '../wire/protocol-error.js';
import { boolean, byte, string, uint32 } from '../wire/write.js';

/** Bytes that a client may send before they are read, and of one message. */
export const windowBytes = 1024 * 1024;
export const packetBytes = 32 * 1024;
/** So much has to be read before the peer gets a report of it. */
const adjustAfter = windowBytes / 2;
const stderrType = 1;

/** The part of the connection that a channel needs. */
export interface ChannelLink {
  send(...parts: Buffer[]): void;
  writable(): Promise<void>;
}

export interface ChannelNumbers {
  /** The peer's number of the channel. */
  theirs: number;
  /** Bytes that the peer takes now, and in one message. */
  window: number;
  maxPacket: number;
}

/**
 * One stream of bytes in both directions over a connection (RFC 4254, 5). Reading is asked for, and the peer sends no more
 * than was read plus the window; writing waits for the peer's window. What is written after the channel was closed is dropped.
 */
export class Channel {
  readonly #link: ChannelLink;
  readonly #theirs: number;
  readonly #maxPacket: number;
  readonly #closed = new AbortController();
  #outgoingWindow: number;
  #incomingWindow = windowBytes;
  /** Read, and not reported to the peer yet. */
  #consumedBytes = 0;
  #received: Buffer[] = [];
  #receivedEof = false;
  #sentEof = false;
  #sentClose = false;
  #receivedClose = false;
  #onReadable: (() => void) | undefined;
  #onWindow: (() => void) | undefined;
  /** Writes go out one after another. */
  #writing: Promise<void> = Promise.resolve();
  /** Called once both sides have closed it. */
  onGone: () => void = () => undefined;

  constructor(link: ChannelLink, numbers: ChannelNumbers) {
    this.#link = link;
    this.#theirs = numbers.theirs;
    this.#outgoingWindow = numbers.window;
    this.#maxPacket = numbers.maxPacket;
  }

  /** Aborted once the peer has closed the channel, or has left. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Yields the peer's bytes, to its end of file or the end of the channel. One reader. */
  async *input(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const bytes = this.#received.shift();
      if (bytes !== undefined) {
        yield bytes;
        // Bytes that were taken are used up only now: a reader that is busy with them slows the peer down.
        this.#consumed(bytes.length);
      } else if (this.#receivedEof || this.#closed.signal.aborted) return;
      else
        await new Promise<void>((resolve) => {
          this.#onReadable = resolve;
        });
    }
  }

  /** Sends bytes, or bytes of the standard error; waits until the peer has room for them. */
  write(bytes: Uint8Array, stream: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(bytes, stream));
    return this.#writing;
  }

  /** Says that nothing more is written. */
  eof(): void {
    if (this.#sentEof || this.#sentClose) return;
    this.#sentEof = true;
    this.#link.send(byte(message.channelEof), uint32(this.#theirs));
  }

  /** Notifies the peer of an event, such as the end of a program. */
  notify(type: string, ...fields: Buffer[]): void {
    if (this.#sentClose) return;
    this.#link.send(
      byte(message.channelRequest),
      uint32(this.#theirs),
      string(type),
      boolean(false),
      ...fields,
    );
  }

  /** Answers a request of the peer. */
  answer(succeeded: boolean): void {
    this.#link.send(byte(succeeded ? message.channelSuccess : message.channelFailure), uint32(this.#theirs));
  }

  close(): void {
    if (this.#sentClose) return;
    this.#sentClose = true;
    this.#link.send(byte(message.channelClose), uint32(this.#theirs));
    this.#wake();
    if (this.#receivedClose) this.onGone();
  }

  /** @throws {ProtocolError} for more than the window allows */
  receiveData(bytes: Buffer): void {
    if (bytes.length > this.#incomingWindow) throw new ProtocolError('more data came than was asked for');
    this.#incomingWindow -= bytes.length;
    if (this.#sentClose || this.#receivedEof) this.#consumed(bytes.length);
    else this.#received.push(bytes);
    this.#wakeReader();
  }

  /** @throws {ProtocolError} when the window becomes larger than a number */
  receiveWindow(bytes: number): void {
    this.#outgoingWindow += bytes;
    if (this.#outgoingWindow > 0xffff_ffff) throw new ProtocolError('a window has become too large');
    this.#wakeWriter();
  }

  receiveEof(): void {
    this.#receivedEof = true;
    this.#wakeReader();
  }

  receiveClose(): void {
    this.#receivedClose = true;
    this.abandon();
    if (this.#sentClose) this.onGone();
    else this.close();
  }

  /** The peer has left: waiting for it is over. */
  abandon(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#received = [];
    this.#wake();
  }

  async #write(bytes: Uint8Array, stream: 'stdout' | 'stderr'): Promise<void> {
    let start = 0;
    while (start < bytes.byteLength) {
      while (this.#outgoingWindow === 0 && !this.#over)
        await new Promise<void>((resolve) => {
          this.#onWindow = resolve;
        });
      if (this.#over) return;
      const length = Math.min(bytes.byteLength - start, this.#outgoingWindow, this.#maxPacket);
      this.#outgoingWindow -= length;
      const piece = bytes.subarray(start, start + length);
      start += length;
      if (stream === 'stdout')
        this.#link.send(byte(message.channelData), uint32(this.#theirs), string(piece));
      else
        this.#link.send(
          byte(message.channelExtendedData),
          uint32(this.#theirs),
          uint32(stderrType),
          string(piece),
        );
      await this.#link.writable();
    }
  }

  get #over(): boolean {
    return this.#sentEof || this.#sentClose || this.#closed.signal.aborted;
  }

  #consumed(bytes: number): void {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes < adjustAfter || this.#sentClose) return;
    this.#incomingWindow += this.#consumedBytes;
    this.#link.send(byte(message.channelWindowAdjust), uint32(this.#theirs), uint32(this.#consumedBytes));
    this.#consumedBytes = 0;
  }

  #wake(): void {
    this.#wakeReader();
    this.#wakeWriter();
  }

  #wakeReader(): void {
    this.#onReadable?.();
    this.#onReadable = undefined;
  }

  #wakeWriter(): void {
    this.#onWindow?.();
    this.#onWindow = undefined;
  }
}
