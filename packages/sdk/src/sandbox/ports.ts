import { directHost, directUrl, routedUrl } from '../config/addresses.js';
import type { ClientCore } from '../core/client-core.js';
import { InvalidRequestError } from '../core/errors/answer-errors.js';
import type { RequestOptions } from '../core/pipeline/call-context.js';
import type { DaemonTarget } from '../daemon/target.js';

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

/** Sends a request to a service inside, over the gateway's routing headers, with the token of a private sandbox. */
export async function fetchPort(
  core: ClientCore,
  target: DaemonTarget,
  port: number,
  path: string,
  init: PortRequestInit,
): Promise<Response> {
  const { requestTimeoutMs, signal, ...rest } = init;
  const base = routedUrl(core.config, target, checkPort(port));
  const url = `${base}/${path.replace(/^\/+/, '')}`;
  const streamed = rest.body instanceof ReadableStream ? { duplex: 'half' } : {};
  const request = new Request(url, { redirect: 'manual', ...rest, ...streamed });
  request.headers.set('Svc-Sandbox-Id', target.sandboxId);
  request.headers.set('Svc-Sandbox-Port', String(port));
  if (target.trafficToken !== undefined) request.headers.set('Svc-Traffic-Access-Token', target.trafficToken);
  // What the service inside does with a repeated request is not ours to know.
  const options = { signal: signal ?? undefined, requestTimeoutMs, maxRetries: 0 };
  const context = { operation: 'sandbox.fetch', service: 'sandbox', resource: 'sandbox', options } as const;
  const { value, deadline } = await core.pipeline.open(context, (fetch) => fetch(request));
  if (!value.body) deadline.release();
  return value;
}

function checkPort(port: number): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw new InvalidRequestError(`port must be an integer from 1 to 65535, got ${port}.`);
}
