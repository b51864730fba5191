import type { DaemonClient } from '@svc/daemon';
import type { Attempt, OpenCall, RunningCall } from '../calls/call-engine.js';
import type { ClientCore } from '../calls/client-core.js';
import { directUrl, routedUrl } from '../config/addresses.js';
import type { CallContext, RequestOptions } from '../core/call-context.js';
import { chain, type Fetch } from '../core/middleware.js';
import type { OperationObserver } from '../core/telemetry.js';
import { BrokenStream, DaemonStream, keepaliveSeconds } from './daemon-stream.js';
import { explainRpcFailure } from './explain-failure.js';
import { findReason } from './find-reason.js';
import { probeHealth } from './probe-health.js';
import type { DaemonTarget } from './target.js';

/** Port of the daemon in every sandbox. */
export const daemonPort = 49983;

/** A call into a sandbox. */
export type DaemonCallContext = Omit<CallContext, 'service'> & {
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
};

/** Options of a typed RPC. */
export interface RpcOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
}

/** Work that sends plain HTTP to the daemon at `baseUrl`. */
type HttpWork<T> = (fetch: Fetch, baseUrl: string, observer?: OperationObserver) => Promise<T>;

/** The way to one sandbox's daemon. Nothing is loaded or sent before the first call. */
export class DaemonConnection {
  readonly target: DaemonTarget;
  readonly core: ClientCore;
  readonly #clients = new Map<string | undefined, Promise<DaemonClient>>();

  constructor(core: ClientCore, target: DaemonTarget) {
    this.core = core;
    this.target = target;
  }

  /** Address of the daemon, to be used with `headers`. */
  get baseUrl(): string {
    return routedUrl(this.core.config, this.target, daemonPort);
  }

  /** Address of the daemon that needs no routing headers, for URLs that others use. */
  get directUrl(): string {
    return directUrl(this.core.config, this.target, daemonPort);
  }

  /** Headers that choose the sandbox and open its daemon. */
  headers(user?: string): Record<string, string> {
    const { sandboxId, accessToken } = this.target;
    return {
      'Svc-Sandbox-Id': sandboxId,
      'Svc-Sandbox-Port': String(daemonPort),
      ...(accessToken === undefined ? {} : { 'X-Access-Token': accessToken }),
      ...(user === undefined ? {} : { Authorization: `Basic ${encodeBase64(`${user}:`)}` }),
    };
  }

  /** The generated clients, as one user. Their errors are those of the Connect library. */
  client(user?: string): Promise<DaemonClient> {
    let client = this.#clients.get(user);
    if (!client) {
      client = this.#makeClient(user);
      this.#clients.set(user, client);
      client.catch(() => this.#clients.delete(user));
    }
    return client;
  }

  /**
   * Makes one unary RPC; it is repeated when the connection failed before anything was sent, and when the context calls it
   * idempotent and the connection broke. Failures are those of the tables.
   */
  call<T>(
    context: DaemonCallContext,
    send: (client: DaemonClient, options: RpcOptions) => Promise<T>,
  ): Promise<T> {
    return this.core.engine.run(this.#into(context), (call) =>
      this.#attempt(call, context, (client) =>
        send(client, { signal: call.signal, headers: { ...call.observer?.headers } }),
      ),
    );
  }

  /** Opens an RPC that streams, as `call` makes a unary one; settles with its first message. */
  async open<Message>(
    context: DaemonCallContext,
    send: (client: DaemonClient, options: RpcOptions) => AsyncIterable<Message>,
  ): Promise<DaemonStream<Message>> {
    const { value, deadline } = await this.core.engine.open(this.#into(context), (call) =>
      this.#attempt(call, context, async (client) => {
        const headers = { ...call.observer?.headers, 'Keepalive-Ping-Interval': String(keepaliveSeconds) };
        const messages = send(client, { signal: call.signal, headers })[Symbol.asyncIterator]();
        const { done, value: first } = await messages.next();
        if (done) throw new BrokenStream('the stream ended before its first message');
        return { first, messages };
      }),
    );
    return new DaemonStream(value.first, value.messages, deadline);
  }

  /** The attempts of an RPC. */
  async #attempt<T>(
    call: RunningCall,
    context: DaemonCallContext,
    send: (client: DaemonClient) => Promise<T>,
  ): Promise<T> {
    const { logger } = this.core;
    const client = await this.client(context.user);
    const make = async (attempt: number): Promise<Attempt<T>> => {
      if (logger.debugs) logger.debug(`${context.operation}: RPC`, { ...call.record, attempt });
      try {
        return { value: await send(client) };
      } catch (error) {
        call.signal.throwIfAborted();
        throw await this.explain(error, context, call.signal);
      }
    };
    return call.attempt(make, context.idempotent ?? false);
  }

  /** Sends plain HTTP to the daemon. The answer may be of any status. */
  http<T>(context: DaemonCallContext, work: HttpWork<T>): Promise<T> {
    return this.core.http.call(this.#into(context), (fetch, observer) =>
      work(this.#withHeaders(fetch, context.user), this.baseUrl, observer),
    );
  }

  /** As `http`, for answers that continue as streams: release the deadline at their end. */
  openHttp<T>(context: DaemonCallContext, work: HttpWork<T>): Promise<OpenCall<T>> {
    return this.core.http.open(this.#into(context), (fetch) =>
      work(this.#withHeaders(fetch, context.user), this.baseUrl),
    );
  }

  /** Returns the meaning of an RPC's failure; asks the gateway if the sandbox still runs where the error alone is not enough. */
  explain(error: unknown, context: DaemonCallContext, signal?: AbortSignal): Promise<unknown> {
    return explainRpcFailure(error, context, {
      url: this.baseUrl,
      sandboxId: this.target.sandboxId,
      probe: () => this.probe({ signal }),
      findReason: () => findReason(this.core, this.target.sandboxId, signal),
    });
  }

  /** Asks the sandbox for an answer: `running`, `gone` (the gateway's 502), or `unknown`. */
  probe(options: RequestOptions = {}): Promise<'running' | 'gone' | 'unknown'> {
    return probeHealth(this, options);
  }

  #into(context: DaemonCallContext): CallContext {
    return { ...context, service: 'sandbox', sandbox: this.target };
  }

  #withHeaders(fetch: Fetch, user: string | undefined): Fetch {
    return (request, init) => {
      for (const [name, value] of Object.entries(this.headers(user))) request.headers.set(name, value);
      return fetch(request, init);
    };
  }

  /** Returns the `fetch` that sends RPCs: middleware sees requests of `fetch` alone. Undefined: the transport of the platform. */
  #rpcFetch(): Fetch | undefined {
    const { fetch, middleware = [] } = this.core.config;
    if (middleware.length === 0) return fetch;
    const last: Fetch = fetch ?? ((request, init) => globalThis.fetch(request, init));
    return (request, init) => {
      const operation = new URL(request.url).pathname.slice(1);
      const signal = init?.signal ?? request.signal;
      const call = { operation, service: 'sandbox', attempt: 1, signal } as const;
      return chain(middleware, call, (sent) => last(sent, init))(request);
    };
  }

  async #makeClient(user: string | undefined): Promise<DaemonClient> {
    const { createDaemonClient } = await import('@svc/daemon');
    const { config } = this.core;
    const { sandboxId, accessToken, envdVersion } = this.target;
    const { baseUrl } = this;
    return createDaemonClient({
      baseUrl,
      sandboxId,
      port: daemonPort,
      accessToken,
      user,
      envdVersion,
      // A caller who waits for a stream holds the program open by a timer of the SDK; a stream that nobody reads does not.
      unrefStreams: true,
      fetch: this.#rpcFetch(),
      transport: config.transport?.({ sandboxId, baseUrl }),
      headers: { 'User-Agent': config.userAgent },
    });
  }
}

function encodeBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
