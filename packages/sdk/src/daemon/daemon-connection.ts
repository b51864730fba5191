import type { DaemonClient } from '@svc/daemon';
import { directUrl, routedUrl } from '../config/addresses.js';
import type { ClientCore } from '../core/client-core.js';
import { Deadline, sleep } from '../core/deadline.js';
import type { CallContext, RequestOptions } from '../core/pipeline/call-context.js';
import { chain } from '../core/pipeline/middleware.js';
import { type Fetch, type OpenCall, requestTimeout } from '../core/pipeline/pipeline.js';
import { explainRpcFailure } from './explain-failure.js';
import { probeHealth } from './probe-health.js';
import { RpcRun } from './rpc-run.js';
import type { DaemonTarget } from './target.js';

/** Longest wait for what the platform knows of a sandbox that does not run, ms. */
const reasonLimitMs = 5_000;

/** Port of the daemon in every sandbox. */
export const daemonPort = 49983;

/** A call into a sandbox. */
export type DaemonCallContext = Omit<CallContext, 'service'> & {
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
};

/** What the options of a typed RPC take. */
export interface RpcOptions {
  signal: AbortSignal;
}

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

  /** Address of the daemon that needs no routing headers, for URLs that are given away. */
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
   * Makes one unary RPC under the call's time limit; it is repeated when the connection failed before anything was sent,
   * and when the context calls it idempotent and the connection broke. Failures are those of the tables.
   */
  async call<T>(
    context: DaemonCallContext,
    send: (client: DaemonClient, options: RpcOptions) => Promise<T>,
  ): Promise<T> {
    const deadline = this.deadline(context);
    const run = new RpcRun(this.core, context);
    try {
      const value = await deadline.run(async (signal) => {
        const client = await this.client(context.user);
        return this.attempts(run, signal, () => send(client, { signal }));
      });
      run.end();
      return value;
    } catch (error) {
      throw run.fail(error);
    } finally {
      deadline.release();
    }
  }

  /** Makes attempts until one succeeds or fails for good. Throws the error of the tables. */
  async attempts<T>(run: RpcRun, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    for (;;) {
      run.begin();
      try {
        return await send();
      } catch (thrown) {
        signal.throwIfAborted();
        const error = await this.explain(thrown, run.context, signal);
        const delayMs = run.retryDelay(error);
        if (delayMs === undefined) throw error;
        await sleep(delayMs, signal);
      }
    }
  }

  /** Sends plain HTTP to the daemon, through the pipeline. The answer may be of any status. */
  async http<T>(context: DaemonCallContext, work: (fetch: Fetch, baseUrl: string) => Promise<T>): Promise<T> {
    return this.core.pipeline.call(this.#httpContext(context), (fetch) =>
      work(this.#withHeaders(fetch, context.user), this.baseUrl),
    );
  }

  /** As `http`, for answers that go on streaming: release the deadline at their end. */
  async openHttp<T>(
    context: DaemonCallContext,
    work: (fetch: Fetch, baseUrl: string) => Promise<T>,
  ): Promise<OpenCall<T>> {
    return this.core.pipeline.open(this.#httpContext(context), (fetch) =>
      work(this.#withHeaders(fetch, context.user), this.baseUrl),
    );
  }

  /** The time limit of one call, and the caller's signal. */
  deadline(context: { operation: string; options?: RequestOptions | undefined }): Deadline {
    const { operation, options } = context;
    return new Deadline({
      signal: options?.signal,
      timeoutMs: options?.requestTimeoutMs ?? this.core.config.requestTimeoutMs,
      onTimeout: (limitMs) => requestTimeout(operation, limitMs),
    });
  }

  /** What an RPC's failure means; asks the gateway whether the sandbox still runs where the error alone cannot tell. */
  async explain(error: unknown, context: DaemonCallContext, signal?: AbortSignal): Promise<unknown> {
    return explainRpcFailure(error, context, {
      url: this.baseUrl,
      sandboxId: this.target.sandboxId,
      probe: () => this.probe({ signal }),
      findReason: () => this.#findReason(signal),
    });
  }

  /** Asks the platform, if that can be asked, whether a sandbox that does not run is paused. */
  async #findReason(signal: AbortSignal | undefined): Promise<'paused' | 'gone'> {
    const { config, platform } = this.core;
    if (config.apiKey === undefined) return 'gone';
    const context = {
      operation: 'sandbox.isRunning',
      options: { signal, requestTimeoutMs: reasonLimitMs, maxRetries: 0 },
    };
    const params = { path: { sandboxID: this.target.sandboxId } };
    try {
      const { data } = await platform.call(context, (client, fetch) =>
        client.GET('/sandboxes/{sandboxID}', { params, fetch }),
      );
      return data.state === 'paused' ? 'paused' : 'gone';
    } catch {
      signal?.throwIfAborted();
      return 'gone';
    }
  }

  /** Whether the sandbox answers: `running`, `gone` (the gateway's 502), or `unknown`. */
  probe(options: RequestOptions = {}): Promise<'running' | 'gone' | 'unknown'> {
    return probeHealth(this, options);
  }

  #httpContext(context: DaemonCallContext): CallContext {
    return { ...context, service: 'sandbox' };
  }

  #withHeaders(fetch: Fetch, user: string | undefined): Fetch {
    return (request, init) => {
      for (const [name, value] of Object.entries(this.headers(user))) request.headers.set(name, value);
      return fetch(request, init);
    };
  }

  /** What sends RPCs: middleware sees requests of `fetch` alone. Undefined: the transport of the platform. */
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
      // Whoever waits for a stream holds the program open by a timer of the SDK; a stream that nobody reads does not.
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
