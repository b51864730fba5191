import type { IncomingHttpHeaders } from 'node:http';
import { hostName } from './host.js';

/** Parameter of an address that makes it a preview link, and name of the cookie that takes its place. */
export const linkName = 'svc_preview';

/** Name of the cookie where TLS is spoken. Browsers let no other host set one of such a name. */
export const secureLinkName = `__Host-${linkName}`;

/** Reads the preview links of a request. The functions below remove everything that is read here. */
export interface ShownLinks {
  fromUrl: string[];
  fromCookies: string[];
}

export function shownLinks(
  url: string,
  method: string | undefined,
  headers: IncomingHttpHeaders,
): ShownLinks {
  const fromUrl = pairsOf(url).flatMap(({ name, value }) => (name === linkName ? [value] : []));
  const cookies = headers.cookie ?? '';
  if (!mayHoldLinkCookie(cookies) || isAskedByAnotherSite(method, headers))
    return { fromUrl, fromCookies: [] };
  const fromCookies = cookies.split(';').flatMap((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim();
    return isLinkCookie(pair) ? [value] : [];
  });
  return { fromUrl, fromCookies };
}

/** An address or request target without links. All else stays byte for byte. */
export function withoutLinks(url: string): string {
  const start = url.indexOf('?');
  if (start === -1 || !mayHoldLink(url)) return url;
  const kept = pairsOf(url).filter(({ name }) => name !== linkName);
  const query = kept.map(({ text }) => text).join('&');
  return query === '' ? url.slice(0, start) : `${url.slice(0, start)}?${query}`;
}

/** A Cookie header without links; undefined when nothing is left. */
export function withoutLinkCookies(header: string): string | undefined {
  if (!mayHoldLinkCookie(header)) return header;
  const kept = header.split(';').filter((pair) => !isLinkCookie(pair));
  return kept.length === 0 ? undefined : kept.join(';').trimStart();
}

/** A quick look: most requests have neither the name nor an escape in the name of a parameter. */
function mayHoldLink(url: string): boolean {
  return /svc_preview|[?&][^=&?%]*%/.test(url);
}

function mayHoldLinkCookie(header: string): boolean {
  return /svc_preview/i.test(header);
}

function isLinkCookie(pair: string): boolean {
  const name = pair.split('=', 1)[0]?.trim().toLowerCase();
  return name === linkName || name === secureLinkName.toLowerCase();
}

function pairsOf(url: string): { text: string; name: string; value: string }[] {
  const start = url.indexOf('?');
  if (start === -1 || !mayHoldLink(url)) return [];
  return url
    .slice(start + 1)
    .split('&')
    .map((text) => {
      const [[name = '', value = ''] = []] = new URLSearchParams(text);
      return { text, name, value };
    });
}

/**
 * Returns whether a page of another site asks, with cookies that its visitor's browser added. Sandboxes of one domain are one
 * site to browsers, so that `SameSite` does not keep them from each other. Opening a page is everybody's right.
 */
function isAskedByAnotherSite(method: string | undefined, headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const opensPage = headers['sec-fetch-mode'] === 'navigate' && (method === 'GET' || method === 'HEAD');
  if (opensPage) return false;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  return origin !== undefined && !isOriginOf(origin, host);
}

function isOriginOf(origin: string, host: string | undefined): boolean {
  const authority = /^https?:\/\/(.+)$/i.exec(origin)?.[1];
  if (authority === undefined || host === undefined) return false;
  return hostName(host) !== '' && authority.toLowerCase() === host.toLowerCase();
}
