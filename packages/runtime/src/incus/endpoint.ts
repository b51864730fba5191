import { IncusError } from './incus-error.js';

/** Where a member answers. */
export type Endpoint = { socketPath: string } | { host: string; port: number };

/**
 * Reads the addresses of an Incus server or of members of one cluster: paths of unix sockets (`/var/lib/incus/unix.socket`,
 * `unix:/path`) and `https://host[:port]`, with commas between. The port defaults to 8443. Pure.
 * @throws {IncusError} saying which part is wrong.
 */
export function parseEndpoints(text: string): Endpoint[] {
  const parts = text.split(',').map((part) => part.trim());
  const endpoints = parts.filter((part) => part !== '').map(parseEndpoint);
  if (endpoints.length === 0) throw new IncusError(0, 'The address of Incus is empty.');
  return endpoints;
}

function parseEndpoint(part: string): Endpoint {
  const path = part.replace(/^unix:(?:\/\/(?=\/))?/, '');
  if (path.startsWith('/')) return { socketPath: path };
  const url = URL.canParse(part) ? new URL(part) : undefined;
  if (url?.protocol !== 'https:' || url.hostname === '' || url.pathname !== '/' || url.username !== '') {
    throw new IncusError(
      0,
      `"${part}" is no address of Incus: give the path of its socket, or https://host:8443.`,
    );
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 8443) };
}

/** As an operator writes it. Pure. */
export function formatEndpoint(endpoint: Endpoint): string {
  if ('socketPath' in endpoint) return endpoint.socketPath;
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  return `https://${host}:${endpoint.port}`;
}
