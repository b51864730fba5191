import {
  Agent,
  type ClientRequest,
  type ClientRequestArgs,
  createServer,
  type IncomingMessage,
  request as makeRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { brokeOff } from '../failures/broke-off.js';
import { join } from '../flows/join.js';
import { hostOfRequest } from './authority.js';
import type { HttpConnection, RequestPlan } from './exchange.js';
import { forwardedHeaders, valuesOf } from './headers.js';
import { passBody } from './pass-body.js';
import { withoutUpgrade } from './without-upgrade.js';

const MAX_HEADER_BYTES = 32 * 1024;
/** Longest time that a connection may take for its next request, to the end of its headers. */
const NEXT_REQUEST_MS = 120_000;
/** Requests of one connection that wait for their answers, and the characters of their headers. */
const MAX_PIPELINED = 64;
const MAX_WAITING_CHARACTERS = 2 * MAX_HEADER_BYTES;
/** Connections to the outside for one of a sandbox: its requests may name several hosts. */
const MAX_UPSTREAM = 8;
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS']);

interface Served {
  connection: HttpConnection;
  agent: UpstreamAgent;
  pending: number;
  waitingCharacters: number;
  /** Ends the connection unless a request comes in time. */
  patience: NodeJS.Timeout | undefined;
}

export interface Http1RelayOptions {
  /** Default 120 000 ms. */
  nextRequestMs?: number | undefined;
}

type ForwardPlan = Extract<RequestPlan, { kind: 'forward' }>;

/** Reads the requests of connections as HTTP/1 and sends each on as it is decided. */
export class Http1Relay {
  readonly #server: Server;
  readonly #served = new WeakMap<Duplex, Served>();

  readonly #nextRequestMs: number;

  constructor({ nextRequestMs = NEXT_REQUEST_MS }: Http1RelayOptions = {}) {
    this.#nextRequestMs = nextRequestMs;
    // The server's own time limits count for listeners alone.
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 0 });
    this.#server.timeout = 0;
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    this.#server.on('request', serve).on('checkContinue', serve).on('checkExpectation', serve);
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void this.#upgrade(request, socket, head);
    });
    this.#server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
      this.#served.get(socket)?.connection.cut();
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      const status =
        error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
      if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      else socket.destroy();
    });
  }

  /** Takes a connection over, with what it has sent so far unread. */
  accept(socket: Duplex, connection: HttpConnection): void {
    const agent = new UpstreamAgent();
    const served: Served = { connection, agent, pending: 0, waitingCharacters: 0, patience: undefined };
    this.#served.set(socket, served);
    this.#awaitRequest(served);
    socket.once('close', () => {
      clearTimeout(served.patience);
      agent.destroy();
    });
    this.#server.emit('connection', socket);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const served = this.#served.get(request.socket)!;
    const { connection, agent } = served;
    const characters = request.rawHeaders.reduce((sum, { length }) => sum + length, request.url!.length);
    clearTimeout(served.patience);
    served.pending += 1;
    served.waitingCharacters += characters;
    response.once('close', () => {
      served.pending -= 1;
      served.waitingCharacters -= characters;
      if (served.pending === 0 && !request.socket.destroyed) this.#awaitRequest(served);
    });
    if (served.pending > MAX_PIPELINED || served.waitingCharacters > MAX_WAITING_CHARACTERS)
      return connection.cut();
    const plan = await planOf(request, connection);
    if (request.socket.destroyed) return;
    if (plan.kind === 'cut') return connection.cut();
    if (plan.kind === 'answer') {
      response.sendDate = false;
      response.writeHead(plan.status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
      response.end(plan.text);
      return;
    }
    this.#forward(request, response, plan, { connection, agent, again: REPEATABLE.has(request.method!) });
  }

  #awaitRequest(served: Served): void {
    clearTimeout(served.patience);
    served.patience = setTimeout(() => served.connection.cut(), this.#nextRequestMs);
    served.patience.unref();
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    plan: ForwardPlan,
    how: { connection: HttpConnection; agent: UpstreamAgent; again: boolean },
  ): void {
    const { connection, agent, again } = how;
    const upstream = send(request, plan, agent);
    if (upstream === undefined) {
      response.writeHead(400, { connection: 'close' });
      response.end();
      return;
    }
    upstream.on('continue', () => response.writeContinue());
    upstream.on('response', (answer) => answerWith(response, answer, connection));
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      // A connection that was kept may end as the next request is sent: that one was not seen by anybody.
      const stale = upstream.reusedSocket && error.code === 'ECONNRESET' && !response.headersSent;
      if (stale && again && !hasBody(request)) {
        this.#forward(request, response, plan, { ...how, again: false });
        return;
      }
      if (response.writableFinished || request.socket.destroyed) return;
      connection.fail(error);
      connection.cut();
    });
    response.once('close', () => {
      if (!response.writableFinished) upstream.destroy();
    });
    if (hasBody(request)) passBody(request, upstream);
    else upstream.end();
  }

  /** WebSockets, and every other protocol of a connection. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const served = this.#served.get(socket);
    if (served === undefined) return void socket.destroy();
    if (hasBody(request)) {
      // A client that changes the protocol waits for answers first. An earlier one would have no end that the next one hears of.
      if (served.pending > 0) return served.connection.cut();
      // The parser has left the body to us, as if it were of the other protocol.
      this.#awaitRequest(served);
      socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
      this.#server.emit('connection', socket);
      return;
    }
    clearTimeout(served.patience);
    const { connection, agent } = served;
    const plan = await planOf(request, connection);
    if (socket.destroyed) return;
    if (plan.kind === 'cut') return connection.cut();
    if (plan.kind === 'answer') {
      socket.end(
        `HTTP/1.1 ${plan.status} Refused\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(plan.text)}\r\n\r\n${plan.text}`,
      );
      return;
    }
    const upgrade = valuesOf(request.rawHeaders, 'upgrade').join(', ');
    const upstream = send(request, plan, agent, ['Connection', 'Upgrade', 'Upgrade', upgrade]);
    if (upstream === undefined) return void socket.destroy();
    upstream.on('upgrade', (answer, other, rest) => {
      socket.write(
        headOf(answer, [
          'Connection',
          'Upgrade',
          'Upgrade',
          valuesOf(answer.rawHeaders, 'upgrade').join(', '),
        ]),
        'latin1',
      );
      if (rest.length > 0) other.unshift(rest);
      if (head.length > 0) socket.unshift(head);
      for (const side of [socket, other]) side.allowHalfOpen = true;
      join(socket, other);
    });
    upstream.on('response', (answer) => {
      socket.write(headOf(answer, ['Connection', 'close']), 'latin1');
      answer.pipe(socket);
      answer.on('error', () => socket.destroy());
    });
    upstream.on('error', (error) => {
      connection.fail(error);
      connection.cut();
    });
    socket.once('close', () => upstream.destroy());
    upstream.end();
  }
}

async function planOf(request: IncomingMessage, connection: HttpConnection): Promise<RequestPlan> {
  const asked = hostOfRequest(request.url!, request.rawHeaders);
  if (asked === 'conflict')
    return { kind: 'answer', status: 400, text: 'The request names no host, or two.\n' };
  return connection.plan({ method: request.method!, host: asked.host });
}

function send(
  request: IncomingMessage,
  plan: ForwardPlan,
  agent: UpstreamAgent,
  more: string[] = [],
): ClientRequest | undefined {
  const { rawHeaders } = request;
  const headers = [...forwardedHeaders(rawHeaders, plan.set), ...more];
  if (request.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (
    !hasBody(request) &&
    request.headers['content-length'] === undefined &&
    !REPEATABLE.has(request.method!)
  )
    headers.push('Content-Length', '0');
  const options: UpstreamOptions = {
    agent,
    method: request.method!,
    path: request.url!,
    headers,
    setHost: false,
    target: plan,
  };
  agent.makeRoom(plan.key);
  try {
    return makeRequest(options);
  } catch {
    // Letters that may not stand in a request, which the parser let through.
    return undefined;
  }
}

function answerWith(response: ServerResponse, answer: IncomingMessage, connection: HttpConnection): void {
  response.sendDate = false;
  try {
    response.writeHead(answer.statusCode!, answer.statusMessage ?? '', forwardedHeaders(answer.rawHeaders));
  } catch (error) {
    answer.destroy();
    connection.fail(error);
    connection.cut();
    return;
  }
  response.flushHeaders();
  const { socket } = answer;
  if (!hasLength(answer))
    answer.once('end', () => {
      if (!broken.has(socket)) return;
      connection.fail(new Error('ended early'));
      connection.cut();
    });
  passBody(answer, response);
  answer.once('end', () => {
    if (answer.rawTrailers.length > 0) response.addTrailers(pairsOf(answer.rawTrailers));
  });
  answer.once('close', () => {
    if (answer.complete || response.destroyed) return;
    connection.fail(new Error('ended early'));
    connection.cut();
  });
  answer.on('error', () => undefined);
}

function headOf(answer: IncomingMessage, more: readonly string[]): string {
  const lines = pairsOf([...forwardedHeaders(answer.rawHeaders), ...more]).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join('')}\r\n`;
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : []));
}

/** Returns true for an answer that says where it ends. Without that it ends with its connection. */
function hasLength({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Connections to the outside that the other side broke off. */
const broken = new WeakSet<Duplex>();

interface UpstreamOptions extends ClientRequestArgs {
  target: ForwardPlan;
}

/** Connections to the outside of one connection of a sandbox: one for each host that its requests name. */
class UpstreamAgent extends Agent {
  constructor() {
    super({ keepAlive: true, maxSockets: 1, maxTotalSockets: MAX_UPSTREAM });
  }

  override getName(options?: object): string {
    return (options as UpstreamOptions).target.key;
  }

  /**
   * Lets a request begin for which there is no connection: where there are as many as there may be, one that is not in use ends.
   * It would have to wait until its server ends it.
   */
  makeRoom(key: string): void {
    if (this.sockets[key] !== undefined || this.freeSockets[key] !== undefined) return;
    const idle = Object.values(this.freeSockets).flat();
    const used = Object.values(this.sockets).flat();
    if (idle.length + used.length >= MAX_UPSTREAM) idle[0]?.destroy();
  }

  /** One that is free again is not kept while a request waits for another host's. */
  override keepSocketAlive(socket: Duplex): boolean {
    if (Object.keys(this.requests).length > 0) return false;
    return super.keepSocketAlive(socket) as unknown as boolean;
  }

  override createConnection(
    options: object,
    made?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    (options as UpstreamOptions).target.open().then(
      (socket) => {
        // One that the server ended while it was not in use must not get the next request.
        socket.allowHalfOpen = false;
        // Asked before anybody else has ended it.
        socket.prependOnceListener('end', () => {
          if (brokeOff(socket)) broken.add(socket);
        });
        made?.(null, socket);
      },
      (error: Error) => made?.(error, undefined as never),
    );
    return undefined;
  }
}
