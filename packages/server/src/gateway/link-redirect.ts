import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { linkName, secureLinkName, withoutLinks } from './link-carriers.js';
import type { PreviewLink } from './preview-link.js';
import { discardBody, isNavigation } from './respond.js';

/** Returns whether a browser opens the address as a page, in a frame too. A request for data may have no place for a cookie. */
export function opensPage(req: IncomingMessage): boolean {
  if (!isNavigation(req) || req.headers.upgrade !== undefined) return false;
  return req.headers['sec-fetch-mode'] !== undefined || /text\/html/i.test(req.headers.accept ?? '');
}

/** Returns whether the browser speaks TLS, to this server or to a proxy in front. A client that lies about it harms itself alone. */
export function speaksTls(req: IncomingMessage, publicTls: boolean): boolean {
  const encrypted = (req.socket as Partial<TLSSocket>).encrypted === true;
  return encrypted || publicTls || /^https\b/i.test(req.headers['x-forwarded-proto']?.toString() ?? '');
}

/**
 * Answers a link that a browser opens with the same address without it, and a cookie: the page inside, its scripts, its
 * log and what it links to never see the link.
 */
export function sendLinkRedirect(
  req: IncomingMessage,
  res: ServerResponse,
  { url, link, tls, nowMs }: { url: string; link: PreviewLink; tls: boolean; nowMs: number },
): void {
  res.writeHead(307, {
    Location: locationOf(withoutLinks(url)),
    'Set-Cookie': cookieOf(link, tls, nowMs),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Content-Length': 0,
  });
  res.end();
  discardBody(req);
}

/** In frames of other sites browsers send cookies only when they say so, and by TLS; `Partitioned` binds them to that site. */
function cookieOf({ value, expiresAt }: PreviewLink, tls: boolean, nowMs: number): string {
  const seconds = Math.max(1, Math.floor(expiresAt - nowMs / 1000));
  const name = tls ? secureLinkName : linkName;
  const reach = tls ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; ${reach}`;
}

/** A path for the Location header that always leads to the same host: `//host/` would name another one. */
function locationOf(url: string): string {
  const printable = url.replace(/[^!-~]/g, (char) => encodeURIComponent(char));
  return /^[/\\][/\\]/.test(printable) ? `/.${printable}` : printable;
}
