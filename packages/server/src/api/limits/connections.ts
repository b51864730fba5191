import type { OutgoingHttpHeader, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

export interface ConnectionLimits {
  /** Connections at once. */
  total: number;
  /** Connections of one address at once; of one /64 network with IPv6. */
  perAddress: number;
  /** Longest idle time of a connection without a valid credential, ms. */
  strangerIdleMs: number;
}

export interface ConnectionCounts {
  open: number;
  /** Refused since the start. */
  refused: number;
  /** Closed since the start, unused, to make room. */
  evicted: number;
}

interface Entry {
  address: string;
  /** Requests under way. */
  busy: number;
}

/**
 * Keeps one listener within its share of connections, so that a client with many, idle or slow ones can neither use up the
 * process's descriptors nor keep others out: each address has a limit, connections that showed no credential are closed
 * soon when unused, which their answers say, and the oldest of them give way to new ones.
 */
export class ConnectionGuard {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Entry>();
  /** With TLS: the connections by their two ends, and the one below each encrypted stream, which is what requests know. */
  readonly #byEnds = new Map<string, Socket>();
  readonly #below = new WeakMap<Socket, Socket>();
  readonly #perAddress = new Map<string, number>();
  /** Connections without a credential, oldest first. */
  readonly #strangers = new Set<Socket>();
  #refused = 0;
  #evicted = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get counts(): ConnectionCounts {
    return { open: this.#open.size, refused: this.#refused, evicted: this.#evicted };
  }

  /** Looks after every connection of a server from now on. */
  watch(server: Server): void {
    const encrypted = server instanceof TlsServer;
    server.on('connection', (socket) => this.#admit(socket, encrypted));
    if (encrypted) (server as TlsServer).on('secureConnection', (stream) => this.#secured(stream));
    // Registered before the handlers, some of which answer at once.
    for (const event of ['request', 'checkContinue'] as const)
      server.prependListener(event, (request, response) => this.#begin(request.socket, response));
    server.on('upgrade', (request) => this.#begin(request.socket as Socket));
    server.on('timeout', (stream) => this.#closeUnused(stream));
  }

  /** A valid credential came over the connection: it may be kept for later requests. */
  trust(socket: Socket): void {
    this.#strangers.delete(this.#below.get(socket) ?? socket);
  }

  /** Breaks off every connection, also upgraded ones and those that a client keeps after its answer. */
  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /**
   * Closes a connection whose time is over, unless its next request is here already: a process that was busy for longer than that
   * time finds the end of it and the request at once, and must take the request. Reading comes before `setImmediate`.
   */
  #closeUnused(stream: Socket): void {
    const entry = this.#open.get(this.#below.get(stream) ?? stream);
    const { bytesRead } = stream;
    setImmediate(() => {
      if (stream.bytesRead === bytesRead && (entry === undefined || entry.busy === 0)) stream.destroy();
    });
  }

  /** Two streams with the same ends are one connection. */
  #secured(stream: Socket): void {
    const socket = this.#byEnds.get(endsOf(stream));
    if (socket !== undefined) this.#below.set(stream, socket);
  }

  #admit(socket: Socket, encrypted: boolean): void {
    const address = addressKey(socket.remoteAddress);
    const ofAddress = this.#perAddress.get(address) ?? 0;
    if (ofAddress >= this.#limits.perAddress) {
      this.#refuse(socket, encrypted, 429, 'Too Many Requests', 'too many connections from this address');
      return;
    }
    if (this.#open.size >= this.#limits.total && !this.#evictOne()) {
      this.#refuse(socket, encrypted, 503, 'Service Unavailable', 'the server has too many connections');
      return;
    }
    this.#open.set(socket, { address, busy: 0 });
    this.#perAddress.set(address, ofAddress + 1);
    this.#strangers.add(socket);
    if (encrypted) {
      const ends = endsOf(socket);
      this.#byEnds.set(ends, socket);
      socket.once('close', () => {
        if (this.#byEnds.get(ends) === socket) this.#byEnds.delete(ends);
      });
    }
    socket.once('close', () => this.#forget(socket));
  }

  #begin(stream: Socket, response?: ServerResponse): void {
    const socket = this.#below.get(stream) ?? stream;
    const entry = this.#open.get(socket);
    if (entry === undefined) return;
    entry.busy += 1;
    if (response !== undefined && this.#strangers.has(socket))
      announceKept(response, () => (this.#strangers.has(socket) ? this.#strangersKeepAlive : undefined));
    response?.once('close', () => {
      entry.busy -= 1;
      // Set after Node's own timeout, which is for connections that may be kept.
      if (this.#strangers.has(socket)) stream.setTimeout(this.#limits.strangerIdleMs);
    });
  }

  /**
   * Two seconds less than the connection is kept, so that a client which is slow to notice does not send its next request into one
   * that was just closed.
   */
  get #strangersKeepAlive(): string {
    return `timeout=${Math.max(1, Math.floor(this.#limits.strangerIdleMs / 1000) - 2)}`;
  }

  #evictOne(): boolean {
    for (const socket of this.#strangers) {
      if (this.#open.get(socket)?.busy !== 0) continue;
      this.#evicted += 1;
      this.#forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  #forget(socket: Socket): void {
    this.#strangers.delete(socket);
    const entry = this.#open.get(socket);
    if (entry === undefined) return;
    this.#open.delete(socket);
    const left = (this.#perAddress.get(entry.address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(entry.address);
    else this.#perAddress.set(entry.address, left);
  }

  #refuse(socket: Socket, encrypted: boolean, status: number, reason: string, message: string): void {
    this.#refused += 1;
    if (encrypted) {
      // An answer would cost a handshake, which is what such a client must not get.
      socket.destroy();
      return;
    }
    const body = JSON.stringify({ code: status, message });
    socket.on('error', () => undefined);
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n${body}`,
    );
    socket.destroySoon();
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** The key of an address: one of IPv4, also when it is written as one of IPv6; the first half of one of IPv6. */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%', 1)[0]!.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return `${[...before, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':')}::/64`;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Announces in an answer for how long its connection is kept, in place of the server's setting for all of them.
 * @param keepAlive asked when the head is written, when it is known who sent the request: value of `Keep-Alive`, or undefined to
 * leave it to the server
 */
function announceKept(response: ServerResponse, keepAlive: () => string | undefined): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    reason?: string,
    headers?: Headers,
  ) => ServerResponse;
  response.writeHead = (status: number, ...rest: [(string | Headers)?, Headers?]) => {
    const [first, second] = rest;
    const [reason, headers] = typeof first === 'object' ? [undefined, first] : [first, second];
    const value = closes(response, headers) ? undefined : keepAlive();
    return writeHead(status, reason, value === undefined ? headers : withKeepAlive(headers, value));
  };
}

function withKeepAlive(headers: Headers | undefined, value: string): Headers {
  return Array.isArray(headers) ? [...headers, 'Keep-Alive', value] : { ...headers, 'Keep-Alive': value };
}

/** Returns whether the connection ends with this answer. */
function closes(response: ServerResponse, headers: Headers = {}): boolean {
  if (!response.shouldKeepAlive || response.getHeader('connection') === 'close') return true;
  return !Array.isArray(headers) && (headers.Connection ?? headers.connection) === 'close';
}
