import type { Readable, Writable } from 'node:stream';
import { disconnectReason, message } from '../wire/message.js';
import { ProtocolError } from '../wire/protocol-error.js';
import { byte, string, uint32 } from '../wire/write.js';
import { type Agreement, agree, makeOffer } from './algorithms.js';
import { ByteQueue } from './byte-queue.js';
import type { HostKey } from './host-key.js';
import { exchangeKeys } from './key-exchange.js';
import { createPacketCipher, type DirectionKeys, type PacketCipher, plain } from './packet-cipher.js';

export interface TransportOptions {
  input: Readable;
  output: Writable;
  hostKey: HostKey;
  /** Text after `SSH-2.0-`: no spaces or dashes. */
  software: string;
}

/** Longest first line of a client, bytes (RFC 4253, 4.2). */
const maxVersionBytes = 255;

/**
 * The server's side of an SSH transport (RFC 4253) over two streams: reads messages, sends messages, and makes keys as often
 * as the client asks for it.
 */
export class Transport {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #hostKey: HostKey;
  readonly #version: string;
  readonly #received = new ByteQueue();
  #clientVersion: string | undefined;
  #incoming = { cipher: plain, sequence: 0 };
  #outgoing = { cipher: plain, sequence: 0 };
  #sessionId: Buffer | undefined;
  #strict = false;
  #exchange: KeyExchange | undefined;
  /** Messages that wait for the end of a key exchange. */
  #held: Buffer[] = [];

  constructor({ input, output, hostKey, software }: TransportOptions) {
    this.#input = input;
    this.#output = output;
    this.#hostKey = hostKey;
    this.#version = `SSH-2.0-${software}`;
  }

  /**
   * The client's messages, those about the transport itself excepted, until it leaves.
   * @throws {ProtocolError} when it breaks the protocol
   */
  async *messages(): AsyncGenerator<Buffer, void, undefined> {
    this.#output.write(`${this.#version}\r\n`);
    this.#offer();
    for await (const chunk of this.#input as AsyncIterable<Buffer>) {
      this.#received.push(chunk);
      if (this.#clientVersion === undefined && !this.#readVersion()) continue;
      for (let payload = this.#next(); payload !== undefined; payload = this.#next()) {
        const kind = payload[0];
        if (kind === message.disconnect) return;
        if (!this.#handle(payload)) yield payload;
      }
    }
  }

  /** Sends a message; one that comes during a key exchange waits for its end. */
  send(...parts: Buffer[]): void {
    const payload = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    if (this.#exchange === undefined) this.#write(payload);
    else this.#held.push(payload);
  }

  /** Waits until the peer has read enough for more to be sent. */
  async writable(): Promise<void> {
    if (!this.#output.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#output.off('drain', done).off('close', done);
        resolve();
      };
      this.#output.once('drain', done).once('close', done);
    });
  }

  /** Sends the client the reason of the end. */
  disconnect(reason: keyof typeof disconnectReason, text: string): void {
    this.#write(
      Buffer.concat([byte(message.disconnect), uint32(disconnectReason[reason]), string(text), string('')]),
    );
  }

  /** Says of the last message that it is not understood. */
  unimplemented(): void {
    this.send(byte(message.unimplemented), uint32((this.#incoming.sequence - 1) >>> 0));
  }

  #readVersion(): boolean {
    const line = this.#received.takeLine(maxVersionBytes);
    if (line === undefined) return false;
    if (!/^SSH-2\.0-[\x21-\x7e]/.test(line)) throw new ProtocolError('what connects does not speak SSH 2.0');
    this.#clientVersion = line;
    return true;
  }

  /** The next message, when all of it is there. */
  #next(): Buffer | undefined {
    const start = this.#received.peek(4);
    if (start === undefined) return undefined;
    const { cipher, sequence } = this.#incoming;
    const packet = this.#received.take(cipher.lengthOf(start));
    if (packet === undefined) return undefined;
    const payload = cipher.open(packet, sequence);
    this.#incoming.sequence = (sequence + 1) >>> 0;
    return payload;
  }

  /** Handles what belongs to the transport. False: the message is for those above. */
  #handle(payload: Buffer): boolean {
    const kind = payload[0]!;
    const first = this.#sessionId === undefined;
    switch (kind) {
      case message.keyExchangeInit:
        this.#startExchange(payload);
        return true;
      case message.ecdhInit:
        this.#answerExchange(payload);
        return true;
      case message.newKeys:
        this.#takeKeys();
        return true;
      case message.ignore:
      case message.debug:
      case message.unimplemented:
        if (first && this.#strict) throw new ProtocolError('a message is not allowed in a key exchange');
        return true;
    }
    if (first || this.#exchange?.agreement !== undefined)
      throw new ProtocolError('a message is not allowed in a key exchange');
    return false;
  }

  #offer(): KeyExchange {
    const exchange: KeyExchange = { serverOffer: makeOffer() };
    this.#write(exchange.serverOffer);
    this.#exchange = exchange;
    return exchange;
  }

  #startExchange(offer: Buffer): void {
    if (this.#exchange?.agreement !== undefined)
      throw new ProtocolError('a second key exchange began in the first');
    const exchange = this.#exchange ?? this.#offer();
    exchange.clientOffer = Buffer.from(offer);
    exchange.agreement = agree(offer);
    if (this.#sessionId !== undefined) return;
    this.#strict = exchange.agreement.strict;
    if (this.#strict && this.#incoming.sequence !== 1)
      throw new ProtocolError('a message came before the key exchange');
  }

  #answerExchange(init: Buffer): void {
    const { agreement, clientOffer, serverOffer, keys } = this.#exchange ?? {};
    if (
      agreement === undefined ||
      clientOffer === undefined ||
      serverOffer === undefined ||
      keys !== undefined
    )
      throw new ProtocolError('a key share came out of turn');
    if (agreement.dropGuess) {
      agreement.dropGuess = false;
      return;
    }
    const exchanged = exchangeKeys(
      init,
      { clientVersion: this.#clientVersion!, serverVersion: this.#version, clientOffer, serverOffer },
      this.#hostKey,
    );
    this.#sessionId ??= exchanged.hash;
    const { incoming, outgoing } = exchanged.keysFor(this.#sessionId);
    this.#exchange!.keys = incoming;
    this.#write(exchanged.reply);
    this.#write(byte(message.newKeys));
    this.#outgoing = this.#renewed(this.#outgoing, createPacketCipher(agreement.outgoing, outgoing));
  }

  #takeKeys(): void {
    const { agreement, keys } = this.#exchange ?? {};
    if (agreement === undefined || keys === undefined) throw new ProtocolError('new keys came out of turn');
    this.#incoming = this.#renewed(this.#incoming, createPacketCipher(agreement.incoming, keys));
    this.#exchange = undefined;
    const held = this.#held;
    this.#held = [];
    for (const payload of held) this.#write(payload);
  }

  #renewed(
    direction: { sequence: number },
    cipher: PacketCipher,
  ): { cipher: PacketCipher; sequence: number } {
    return { cipher, sequence: this.#strict ? 0 : direction.sequence };
  }

  #write(payload: Buffer): void {
    if (this.#output.destroyed || this.#output.writableEnded) return;
    const { cipher, sequence } = this.#outgoing;
    this.#outgoing.sequence = (sequence + 1) >>> 0;
    this.#output.write(cipher.seal(payload, sequence));
  }
}

/** A key exchange under way. */
interface KeyExchange {
  serverOffer: Buffer;
  clientOffer?: Buffer;
  agreement?: Agreement;
  /** Keys of what the client will send. */
  keys?: DirectionKeys;
}
