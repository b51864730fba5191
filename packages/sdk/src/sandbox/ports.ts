import type { ClientCore } from '../calls/client-core.js';
import { directHost, directUrl, routedUrl } from '../config/addresses.js';
import type { RequestOptions } from '../core/call-context.js';
import type { DaemonTarget } from '../daemon/target.js';
import { InvalidRequestError } from '../errors/answer-errors.js';

/** A request to a service inside a sandbox: as `fetch` takes it, and the time until the headers of its answer. */
export type PortRequestInit = RequestInit & Pick<RequestOptions, 'requestTimeoutMs'>;

/** Host of a port, without a scheme. */
export function portHost(core: ClientCore, target: DaemonTarget, port: number): string {
  return directHost(core.config, target, checkPort(port));
}

/** Address of a port. */
export function portUrl(core: ClientCore, target: DaemonTarget, port: number): string {
  return directUrl(core.config, target, checkPort(port));
}

/** The route by which any HTTP client reaches a port, on machines that cannot resolve host names of sandboxes too. */
export interface PortRoute {
  /** Base address, without a slash at its end. */
  readonly url: string;
  /** To be sent with every request and every WebSocket handshake. Holds the token of private ports. */
  readonly headers: Record<string, string>;
}

/** Address and headers of a port. */
export function portRoute(core: ClientCore, target: DaemonTarget, port: number): PortRoute {
  const token = target.trafficToken;
  return {
    url: routedUrl(core.config, target, checkPort(port)),
    headers: {
      'Svc-Sandbox-Id': target.sandboxId,
      'Svc-Sandbox-Port': String(port),
      ...(token === undefined ? {} : { 'Svc-Traffic-Access-Token': token }),
    },
  };
}

/** Sends a request to a service inside, over the gateway's routing headers, with the token of a private sandbox. */
export async function fetchPort(
  core: ClientCore,
  target: DaemonTarget,
  port: number,
  path: string,
  init: PortRequestInit,
): Promise<Response> {
  const { requestTimeoutMs, signal, ...rest } = init;
  const route = portRoute(core, target, port);
  const url = `${route.url}/${path.replace(/^\/+/, '')}`;
  const streamed = rest.body instanceof ReadableStream ? { duplex: 'half' } : {};
  const request = new Request(url, { redirect: 'manual', ...rest, ...streamed });
  for (const [name, value] of Object.entries(route.headers)) request.headers.set(name, value);
  // The effect of a repeated request on the service inside is not ours to know.
  const options = { signal: signal ?? undefined, requestTimeoutMs, maxRetries: 0 };
  const context = {
    operation: 'sandbox.fetch',
    service: 'sandbox',
    resource: 'sandbox',
    sandbox: target,
    options,
  } as const;
  const { value, deadline } = await core.http.open(context, (fetch) => fetch(request));
  if (!value.body) deadline.release();
  return value;
}

function checkPort(port: number): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw new InvalidRequestError(`port must be an integer from 1 to 65535, got ${port}.`);
}
