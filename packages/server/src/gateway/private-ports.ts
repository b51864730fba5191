import type { IncomingHttpHeaders } from 'node:http';
import type { Route } from './contract.js';
import { shownLinks } from './link-carriers.js';
import { type PreviewLink, readPreviewLink } from './preview-link.js';
import { sameSecret } from './secrets.js';

/** The credentials of a request for a port. */
export interface PortRequest {
  port: number;
  daemonPort: number;
  method: string | undefined;
  /** Path with query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** Names of the header that opens private ports; messages name the first one. */
  trafficTokenNames: readonly string[];
  nowMs: number;
}

/** The decision about a port. `link`: opened by a preview link in the address. */
export type PortAccess = { open: true; link?: PreviewLink } | { open: false; message: string };

/** Private ports open to the token of the sandbox, and to preview links made with it. */
export function judgePort(route: Route, request: PortRequest): PortAccess {
  const { port, daemonPort, headers, trafficTokenNames } = request;
  if (port === daemonPort || route.allowPublicTraffic) return { open: true };
  const trafficToken = route.trafficToken();
  const token = firstHeader(headers, trafficTokenNames);
  if (sameSecret(token, trafficToken)) return { open: true };
  const { fromUrl, fromCookies } = shownLinks(request.url, request.method, headers);
  const scope = { sandboxId: route.sandboxId, port, trafficToken };
  const valid = (values: readonly string[]) => {
    for (const value of values) {
      const link = readPreviewLink(value, scope, request.nowMs);
      if (link !== undefined) return link;
    }
    return undefined;
  };
  const link = valid(fromUrl);
  if (link !== undefined) return { open: true, link };
  // Other sandboxes may have planted cookies of the same name: one valid cookie is enough.
  if (valid(fromCookies) !== undefined) return { open: true };
  return {
    open: false,
    message: refusalOf(token, fromUrl.length + fromCookies.length, trafficTokenNames[0]),
  };
}

export function firstHeader(headers: IncomingHttpHeaders, names: readonly string[]): string | undefined {
  for (const name of names) if (headers[name] !== undefined) return headers[name]?.toString();
  return undefined;
}

function refusalOf(token: string | undefined, links: number, name: string | undefined): string {
  if (token !== undefined) return `The port is private: the ${name} header is wrong`;
  if (links > 0) return 'The port is private: the link has expired or is wrong. Ask for a new one';
  return `The port is private: the ${name} header is missing; in a browser, open a link that has not expired and allow its cookie`;
}
