import { Duplex } from 'node:stream';
import type { IncusClient } from './incus-client.js';
import { IncusError } from './incus-error.js';
import { openWebSocket } from './web-socket.js';
import { binaryHeader, CLOSE_FRAME, FrameReader, pongFrame } from './web-socket-frames.js';

/** Without an answer for so long nothing connects any more, ms. */
const OPEN_MS = 30_000;
const MOST_UNREAD_BYTES = 64 * 2 ** 10;
/** The number of bytes that are kept from the end of the standard error. */
const MOST_DIAGNOSTICS = 2_000;
const SECRET = /^[0-9a-f]{16,128}$/;
/** Numbers of the descriptors of a program, and the connection that reports its end. */
const CONNECTIONS = ['0', '1', '2', 'control'] as const;

export interface ExecuteOptions {
  client: IncusClient;
  /** Name in Incus. */
  instance: string;
  command: readonly string[];
  environment?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
}

/** A program that runs inside an instance. What is written is its standard input, what is read its standard output. */
export class ExecStream extends Duplex {
  readonly #sockets: Record<(typeof CONNECTIONS)[number], Duplex>;
  #diagnostics = '';

  constructor(sockets: Record<(typeof CONNECTIONS)[number], Duplex>) {
    super({ allowHalfOpen: true });
    this.#sockets = sockets;
    for (const name of CONNECTIONS) {
      sockets[name].on('error', () => undefined);
      // The program ends, or the way to it: nothing more comes.
      sockets[name].once('close', () => this.#end(name));
    }
    this.#listen('1', (payload) => {
      if (!this.push(payload)) sockets[1].pause();
    });
    this.#listen('2', (payload) => {
      this.#diagnostics = `${this.#diagnostics}${payload.toString('utf8')}`.slice(-MOST_DIAGNOSTICS);
    });
    this.#listen('control', () => undefined);
    this.#listen('0', () => undefined);
  }

  /** The end of what the program wrote to its standard error. */
  get diagnostics(): string {
    return this.#diagnostics;
  }

  override _read(): void {
    this.#sockets[1].resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const input = this.#sockets[0];
    input.write(binaryHeader(chunk.length));
    input.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sockets[0].end(CLOSE_FRAME, () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const socket of Object.values(this.#sockets)) socket.destroy();
    done(error);
  }

  #end(name: string): void {
    if (name === '1') this.push(null);
    if (name !== '2') setImmediate(() => this.destroy());
  }

  #listen(name: (typeof CONNECTIONS)[number], onData: (payload: Buffer) => void): void {
    const socket = this.#sockets[name];
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of reader.push(chunk)) {
          if (frame.kind === 'close') socket.destroy();
          else if (frame.kind === 'binary') onData(frame.payload);
          // A peer that does not read answers gets no more of them.
          else if (frame.kind === 'ping' && socket.writableLength < MOST_UNREAD_BYTES)
            socket.write(pongFrame(frame.payload));
        }
      } catch (error) {
        this.destroy(error as Error);
      }
    });
  }
}

/** Runs a program inside an instance, as root. The user of the stream destroys it. @throws {IncusError} */
export async function execute(options: ExecuteOptions): Promise<ExecStream> {
  const { client, instance, command, environment = {}, signal } = options;
  const { operationId, metadata } = await client.startOperation({
    method: 'POST',
    path: `/instances/${encodeURIComponent(instance)}/exec`,
    body: { command, environment, 'wait-for-websocket': true, interactive: false },
    signal,
  });
  const fds = (metadata as { fds?: Record<string, unknown> } | null)?.fds ?? {};
  const opened: Duplex[] = [];
  try {
    for (const name of CONNECTIONS) {
      const secret = fds[name];
      if (typeof secret !== 'string' || !SECRET.test(secret))
        throw new IncusError(500, 'Incus gave no connection to the program that it runs.');
      const path = `/operations/${operationId}/websocket`;
      const socket = await openWebSocket(client, { path, query: { secret }, signal, timeoutMs: OPEN_MS });
      // Until all are there, nobody else listens.
      socket.on('error', () => undefined);
      opened.push(socket);
    }
  } catch (error) {
    for (const socket of opened) socket.destroy();
    throw error;
  }
  const [input, output, errors, control] = opened;
  return new ExecStream({ 0: input!, 1: output!, 2: errors!, control: control! });
}
