import { type Client as ConnectClient, createClient, type Transport } from '@connectrpc/connect';
import { createOpenapiClient, type FetchLike, type Client as HttpClient } from '@svc/platform/openapi-client';
import { type DaemonFeatures, parseDaemonFeatures } from './features.js';
import type { paths } from './gen/daemon.js';
import { Filesystem } from './gen/filesystem/filesystem_pb.js';
import { Process } from './gen/process/process_pb.js';
import { type DaemonAddress, daemonHeaders } from './headers.js';
import { createDefaultTransport } from './transport/default-transport.js';
import { createFetchTransport } from './transport/fetch-transport.js';
import { withHeaders } from './transport/with-headers.js';

export interface DaemonClientOptions extends DaemonAddress {
  /** Address through which the sandbox is reached, such as the routing proxy's. */
  baseUrl: string;
  /** The daemon's version as the platform reports it. Default: the newest. */
  envdVersion?: string | undefined;
  /** Sends every request, RPCs included unless `transport` is given. Default: the platform's own client. */
  fetch?: FetchLike | undefined;
  /** Sent with every request; headers of one call win. */
  headers?: Record<string, string | undefined> | undefined;
  /** Carries the RPCs. Default: Node's HTTP client in Node, `fetch` on other platforms and where `fetch` is given. */
  transport?: Transport | undefined;
  /** For the transport that is used where neither `transport` nor `fetch` is given; see `createDefaultTransport`. */
  unrefStreams?: boolean | undefined;
  /** Largest message of an RPC that is taken, unless `transport` is given, bytes; a larger one fails with `resource_exhausted`. Default 64 MiB. */
  readMaxBytes?: number | undefined;
}

export interface DaemonClient {
  /** Programs of the sandbox. */
  readonly process: ConnectClient<typeof Process>;
  /** Files of the sandbox. */
  readonly filesystem: ConnectClient<typeof Filesystem>;
  /** Plain HTTP routes: contents of files, health, metrics, environment. */
  readonly http: HttpClient<paths>;
  /** The features of this daemon's version. */
  readonly features: DaemonFeatures;
}

/**
 * Makes typed clients of one sandbox's daemon. They add the headers that choose and open the sandbox and nothing else:
 * no retries, no deadlines, no errors of their own. Nothing is sent before the first call.
 */
export function createDaemonClient(options: DaemonClientOptions): DaemonClient {
  const { baseUrl, fetch } = options;
  const headers = { ...daemonHeaders(options), ...options.headers };
  const transport = withHeaders(options.transport ?? transportOf(options), headers);
  let http: HttpClient<paths> | undefined;
  return {
    process: createClient(Process, transport),
    filesystem: createClient(Filesystem, transport),
    // Made when first wanted: RPCs alone need no `fetch`, which Node loads on first sight.
    get http() {
      http ??= createOpenapiClient<paths>({ baseUrl, fetch, headers });
      return http;
    },
    features: parseDaemonFeatures(options.envdVersion),
  };
}

function transportOf({ baseUrl, fetch, readMaxBytes, unrefStreams }: DaemonClientOptions): Transport {
  if (!fetch) return createDefaultTransport({ baseUrl, unrefStreams, readMaxBytes });
  return createFetchTransport({
    baseUrl,
    readMaxBytes,
    fetch: (url, init) => fetch(new Request(url, init), init.signal ? { signal: init.signal } : undefined),
  });
}
