import type { TokenStore } from '../token/token-store.js';

// Two of these check for themselves: /files by header or signature, /init by its own rule.
const EXEMPT = new Set(['GET /health', 'GET /files', 'POST /files', 'POST /init']);

/** Whether a request may go on to its handler. */
export function mayPass(
  token: TokenStore,
  method: string,
  path: string,
  header: string | string[] | undefined,
): boolean {
  if (!token.required || EXEMPT.has(`${method} ${path}`)) return true;
  return token.matches(typeof header === 'string' ? header : undefined);
}
