import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import type { Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { anyOf } from '#support/any-of';
import { type Endpoint, formatEndpoint, parseEndpoints } from './endpoint.js';
import { IncusError } from './incus-error.js';
import { type Answer, readAnswer, readOperation, type StartedOperation } from './read-answer.js';

export interface IncusCredentials {
  /** PEM of the certificate that Incus trusts, and of its key. */
  certificate: string;
  key: string;
  /** PEM of the certificate that Incus shows: of the cluster, or of the one server. It is not signed by anybody. */
  serverCertificate: string;
}

export interface IncusClientOptions {
  /** As `parseEndpoints` reads them. Members are tried in this order; the one that answered last goes first. */
  address: string;
  /** Needed for `https` addresses. */
  credentials?: IncusCredentials | undefined;
  /** Project that calls are about. Default `default`. */
  project?: string | undefined;
}

export interface IncusRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/1.0`, encoded, such as `/instances/x`. */
  path: string;
  query?: Record<string, string> | undefined;
  body?: unknown;
  /** Instead of `body`: bytes as they are. Not sent again to another member. */
  content?: { stream: Readable; headers: Record<string, string> };
  signal?: AbortSignal | undefined;
  /** Longest wait for the answer, and then for the operation that it started, ms. Default 60,000 and 600,000. */
  timeoutMs?: number;
  operationMs?: number;
}

/** A machine that is off does not even refuse. */
const CONNECT_MS = 5_000;
const ANSWER_MS = 60_000;
const OPERATION_MS = 600_000;
/** One question about an operation; asked again until it is over. */
const WAIT_SECONDS = 20;
const AGAIN_MS = 200;
const LARGEST_ANSWER_BYTES = 64 * 2 ** 20;
/** Errors before anything was sent. */
const NOT_CONNECTED = new Set([
  'ENOENT',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
]);

/** Calls of Incus' REST API, to whichever member answers. */
export class IncusClient {
  readonly project: string;
  readonly #credentials: IncusCredentials | undefined;
  readonly #plain = new Agent({ keepAlive: true });
  readonly #tls: TlsAgent;
  #endpoints: Endpoint[];

  constructor(options: IncusClientOptions) {
    this.project = options.project ?? 'default';
    this.#credentials = options.credentials;
    this.#endpoints = parseEndpoints(options.address);
    if (this.#credentials === undefined && this.#endpoints.some((endpoint) => 'host' in endpoint)) {
      throw new IncusError(
        0,
        'An https address of Incus needs a client certificate, its key and the certificate of Incus.',
      );
    }
    this.#tls = new TlsAgent({ keepAlive: true });
  }

  /** The answer's `metadata`; of an operation, what it left when it was done. @throws {IncusError} */
  async call<T = unknown>(request: IncusRequest): Promise<T> {
    const answer = await this.#answer(request);
    if (answer.kind === 'done') return answer.metadata as T;
    return (await this.#outcome(answer.operation.operationId, request)) as T;
  }

  /** Begins an operation that continues by itself; returns the data that is known from the beginning. @throws {IncusError} */
  async start<T = unknown>(request: IncusRequest): Promise<T> {
    return (await this.startOperation(request)).metadata as T;
  }

  /** As {@link start}, with the id of the operation. @throws {IncusError} */
  async startOperation(request: IncusRequest): Promise<StartedOperation> {
    const answer = await this.#answer(request);
    if (answer.kind === 'done') throw new IncusError(500, 'Incus started no operation.');
    return answer.operation;
  }

  /** As {@link call}; undefined where there is no such thing. */
  async find<T = unknown>(request: IncusRequest): Promise<T | undefined> {
    try {
      return await this.call<T>(request);
    } catch (error) {
      if (IncusError.is(error, 404)) return undefined;
      throw error;
    }
  }

  /** An answer that is no envelope but bytes. The caller reads or destroys it. @throws {IncusError} */
  async download(request: IncusRequest): Promise<IncomingMessage> {
    const answer = await this.#send(request, request.signal);
    if (answer.statusCode === 200) return answer;
    readAnswer(answer.statusCode ?? 0, await bounded(answer));
    throw new IncusError(answer.statusCode ?? 0, 'Incus did not give the content.');
  }

  /** Opens an upgraded connection, such as that of events. */
  async upgrade(
    request: IncusRequest & { headers: Record<string, string> },
  ): Promise<{ socket: Duplex; head: Buffer }> {
    const [endpoint] = this.#endpoints;
    const limit = setTimeout(() => {
      outgoing.destroy(new IncusError(0, 'Incus did not answer in time.'));
    }, request.timeoutMs ?? ANSWER_MS);
    const outgoing = this.#open(endpoint!, request, request.headers, request.signal);
    boundConnect(outgoing);
    return new Promise<{ socket: Duplex; head: Buffer }>((resolve, reject) => {
      outgoing.once('upgrade', (_answer, socket, head) => resolve({ socket: socket as Duplex, head }));
      outgoing.once('response', (answer) => {
        // Of what is no upgrade nothing is read.
        answer.destroy();
        reject(
          new IncusError(
            answer.statusCode ?? 0,
            `Incus does not open the connection (${answer.statusCode}).`,
          ),
        );
      });
      outgoing.once('error', (cause) => reject(unanswered(endpoint!, cause)));
      outgoing.end();
    }).finally(() => clearTimeout(limit));
  }

  /** Closes idle connections. */
  close(): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }

  async #answer(request: IncusRequest): Promise<Answer> {
    const limit = AbortSignal.timeout(request.timeoutMs ?? ANSWER_MS);
    const signal = request.signal === undefined ? limit : anyOf([limit, request.signal]);
    try {
      const answer = await this.#send(request, signal);
      return readAnswer(answer.statusCode ?? 0, await bounded(answer));
    } catch (error) {
      request.signal?.throwIfAborted();
      if (limit.aborted) {
        // Others are asked first from now on.
        const [silent, ...others] = this.#endpoints;
        this.#endpoints = [...others, silent!];
        throw new IncusError(0, 'Incus did not answer in time.', { cause: error });
      }
      if (IncusError.is(error)) throw error;
      throw new IncusError(0, 'The answer of Incus broke off.', { cause: error });
    }
  }

  async #outcome(id: string, { signal, operationMs = OPERATION_MS }: IncusRequest): Promise<unknown> {
    const path = `/operations/${id}`;
    const endMs = Date.now() + operationMs;
    try {
      while (Date.now() < endMs) {
        const asked = performance.now();
        const over = readOperation(await this.#waitFor(path, signal));
        if (over !== undefined) return over.metadata;
        // Incus waits before it reports that an operation continues. A server that answers at once must not be asked without a pause.
        if (performance.now() - asked < AGAIN_MS)
          await sleep(AGAIN_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
      }
    } catch (error) {
      // An operation that nobody waits for any more is to end; where it cannot, the caller that aborted cleans up.
      if (signal?.aborted) await this.call({ method: 'DELETE', path }).catch(() => undefined);
      throw error;
    }
    throw new IncusError(0, `An operation of Incus took longer than ${Math.round(operationMs / 1000)} s.`);
  }

  /** State of an operation once it is over, or after a while. */
  async #waitFor(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    try {
      return await this.call({ path: `${path}/wait`, query: { timeout: String(WAIT_SECONDS) }, signal });
    } catch (error) {
      // A wait that was too short is answered like an operation that failed.
      if (!IncusError.is(error) || !/context deadline exceeded/i.test(error.message)) throw error;
      return this.call({ path, signal });
    }
  }

  /** Sends to the first member that takes the connection. */
  async #send(request: IncusRequest, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    let failure: IncusError | undefined;
    for (const endpoint of [...this.#endpoints]) {
      try {
        const answer = await this.#sendTo(endpoint, request, signal);
        if (endpoint !== this.#endpoints[0]) {
          this.#endpoints = [endpoint, ...this.#endpoints.filter((other) => other !== endpoint)];
        }
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        failure = unanswered(endpoint, error);
        const { code } = error as NodeJS.ErrnoException;
        const unsent = NOT_CONNECTED.has(code ?? '');
        // A kept connection may have ended meanwhile; only what changes nothing is asked again.
        const repeatable = (request.method ?? 'GET') === 'GET';
        if (
          request.content !== undefined
            ? !unsent || request.content.stream.readableDidRead
            : !unsent && !repeatable
        )
          throw failure;
      }
    }
    throw failure!;
  }

  #sendTo(
    endpoint: Endpoint,
    request: IncusRequest,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers =
      request.content?.headers ??
      (body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) });
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(endpoint, request, headers, signal);
      outgoing.once('response', resolve);
      outgoing.on('error', reject);
      boundConnect(outgoing);
      if (request.content === undefined) {
        outgoing.end(body);
        return;
      }
      const { stream } = request.content;
      outgoing.once('socket', (socket) => {
        const begin = () => {
          // An early answer ends the upload; it says why.
          pipeline(stream, outgoing).catch((error: unknown) => reject(error));
        };
        if (socket.connecting) socket.once('connect', begin);
        else begin();
      });
    });
  }

  #open(
    endpoint: Endpoint,
    { method = 'GET', path, query }: IncusRequest,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ) {
    const search = new URLSearchParams({ project: this.project, ...query });
    const common = {
      method,
      path: `/1.0${path}?${search}`,
      headers,
      ...(signal === undefined ? {} : { signal }),
    };
    if ('socketPath' in endpoint) {
      return httpRequest({ ...common, socketPath: endpoint.socketPath, agent: this.#plain });
    }
    const { certificate: cert, key, serverCertificate: ca } = this.#credentials!;
    return httpsRequest({
      ...common,
      host: endpoint.host,
      port: endpoint.port,
      agent: this.#tls,
      cert,
      key,
      ca,
      // The certificate itself is known; its names are those that the machine had when it was made.
      checkServerIdentity: () => undefined,
    });
  }
}

/** Gives up a connection that does not come about, as one to which nothing was sent. */
function boundConnect(outgoing: ClientRequest): void {
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => {
      outgoing.destroy(Object.assign(new Error('it does not take the connection'), { code: 'ETIMEDOUT' }));
    }, CONNECT_MS);
    for (const event of ['connect', 'close'] as const) socket.once(event, () => clearTimeout(timer));
  });
}

function unanswered(endpoint: Endpoint, cause: unknown): IncusError {
  if (IncusError.is(cause)) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return new IncusError(0, `Incus does not answer at ${formatEndpoint(endpoint)}: ${code ?? message}.`, {
    cause,
  });
}

async function bounded(answer: IncomingMessage): Promise<string> {
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER_BYTES) answer.destroy(new IncusError(0, 'The answer of Incus is too large.'));
  });
  return text(answer);
}
