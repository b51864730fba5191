import type { Transport } from '@svc/daemon';
import type { Logger, LogLevel } from '../core/logger.js';
import type { Fetch, Middleware } from '../core/middleware.js';
import type { Telemetry } from '../core/telemetry.js';

/** Settings of a client. What is left out comes from the environment, then from the defaults. */
export interface ClientOptions {
  /** API key; `SVC_API_KEY`. Its format is not checked here. Without one every call to the platform throws AuthenticationError. */
  apiKey?: string | undefined;
  /** Address of the platform API; `SVC_API_URL`. Default: `https://api.<domain>`, without a domain `http://localhost:3000`. */
  apiUrl?: string | undefined;
  /**
   * Address through which sandboxes are reached; `SVC_SANDBOX_URL`. Default: from the domain; without one
   * `http://localhost:3002` for the local API, else the origin of `apiUrl`.
   */
  sandboxUrl?: string | undefined;
  /** Domain of the service; `SVC_DOMAIN`. Default: that of an `apiUrl` such as `https://api.<domain>`. A sandbox that reports a domain of its own is reached there. */
  domain?: string | undefined;
  /** Talk to a daemon on this machine: `http://localhost:<port>`, no gateway between; `SVC_DEBUG=true`. Default false. */
  debug?: boolean | undefined;
  /** Sends HTTP requests, RPCs to sandboxes included. Default: the platform's own clients. */
  fetch?: Fetch | undefined;
  /** Sends RPCs to a sandbox instead of the default transport; for tests and unusual networks. */
  transport?: ((sandbox: { sandboxId: string; baseUrl: string }) => Transport) | undefined;
  /** Sent with every request to the platform, never into a sandbox. */
  headers?: Record<string, string> | undefined;
  /** Receives log lines, which never hold secrets. Default: `console`. */
  logger?: Logger | undefined;
  /** Lowest level to write; `SVC_LOG`. `info` logs retries and failures, `debug` each request. Default `warn`. */
  logLevel?: LogLevel | undefined;
  /** Most further attempts after a failed one, where repeating is safe. Default 2. */
  maxRetries?: number | undefined;
  /** Longest time of one call, retries included, ms; 0 removes the limit. Streams: until their first event. Default 60 000. */
  requestTimeoutMs?: number | undefined;
  /** Called for every HTTP request, once per attempt; the first is the outermost. */
  middleware?: readonly Middleware[] | undefined;
  /** Follows calls and commands: `openTelemetry()` of `@svc/sdk/opentelemetry`. Default: what `instrument()` set for all clients. */
  telemetry?: Telemetry | undefined;
  /** Prefix of the User-Agent, for products built on this SDK: `my-agent/1.2`. */
  userAgent?: string | undefined;
}
