import type { Fetch } from '../../src/core/middleware.js';

/** One scripted step: an answer, a failure, or a function that makes either. */
export type Step =
  | Response
  | Error
  | ((request: Request, signal: AbortSignal) => Response | Promise<Response>);

/** A `fetch` that answers from a script, one step per request, and keeps what it was sent. */
export function scriptedFetch(...steps: Step[]) {
  const requests: { request: Request; body: string }[] = [];
  const fetch: Fetch = async (request, init) => {
    const step = steps.shift();
    requests.push({ request, body: request.body ? await request.clone().text() : '' });
    if (step === undefined) throw new Error(`The script has no answer for ${request.method} ${request.url}`);
    if (step instanceof Error) throw step;
    return typeof step === 'function' ? step(request, init?.signal ?? request.signal) : step;
  };
  return { fetch, requests };
}

/** A JSON answer. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** The error that Node's fetch throws when nothing listens. */
export function refused(): Error {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
  });
}

/** The error that Node's fetch throws when the other side hangs up. */
export function reset(): Error {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  });
}

/** Answers never; ends when the request is aborted. */
export const never: Step = (_, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
