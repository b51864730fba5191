import type { CallContext } from './call-context.js';

/** Sends a request: the signature of the generated clients' `fetch` option. */
export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

/** Sends a request on: to the next middleware, at last to `fetch`. */
export type Next = (request: Request) => Promise<Response>;

/** The call that a request belongs to. */
export type MiddlewareCall = Pick<CallContext, 'operation' | 'service'> & {
  /** From 1. */
  readonly attempt: number;
  /** Fires when the caller gives up or the time is over. */
  readonly signal: AbortSignal;
};

/**
 * Called for every HTTP request of the client, once per attempt. It may change the request, answer it, or read its answer. With it,
 * RPCs to a sandbox (commands, terminals, most of files) travel over `fetch` in Node too, and pass here under the name of
 * their method, such as `process.Process/Start`; only those over a `transport` of the caller's do not.
 */
export type Middleware = (request: Request, next: Next, call: MiddlewareCall) => Promise<Response>;

/** Chains middleware around a last step; the first of the list is the outermost. */
export function chain(middleware: readonly Middleware[], call: MiddlewareCall, last: Next): Next {
  return middleware.reduceRight<Next>((next, step) => (request) => step(request, next, call), last);
}
