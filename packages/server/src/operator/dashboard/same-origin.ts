import type { IncomingHttpHeaders } from 'node:http';

/** Whether a request comes from a page of this very server. Browsers write both headers themselves; programs need send neither. */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  // A proxy in front may change the host. What browsers tell here does not depend on it.
  if (site !== undefined) return site === 'same-origin';
  const { origin } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === headers.host;
}
