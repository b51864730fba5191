/** What a scripted service does with one request: an answer, or a failure of the network. */
export type Reply = Response | Error | ((request: Request) => Response | Error | Promise<Response | Error>);

/** A JSON answer. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(status === 204 ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

/** Faults, as the service and the network have them. */
export const faults = {
  /** 429 with `Retry-After`. */
  rateLimited(options: { retryAfterSeconds?: number } = {}): Reply {
    const { retryAfterSeconds = 1 } = options;
    const headers = { 'Retry-After': String(retryAfterSeconds), 'RateLimit-Remaining': '0' };
    return () => json(429, { code: 429, message: 'Rate limit exceeded' }, headers);
  },
  /** An error record, with an `error_code` such as `sandbox_capacity_unavailable` where one is given. */
  failed(
    status: number,
    options: { message?: string; errorCode?: string; retryAfterSeconds?: number } = {},
  ): Reply {
    const { message = `Scripted failure ${status}`, errorCode, retryAfterSeconds } = options;
    const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
    const code = errorCode === undefined ? {} : { error_code: errorCode };
    return () => json(status, { code: status, message, ...code }, headers as Record<string, string>);
  },
  /** The gateway's word for a sandbox that does not run. */
  sandboxGone(sandboxId = 'gone'): Reply {
    return () => json(502, { sandboxId, message: 'The sandbox was not found', code: 502 });
  },
  /** Nothing listens: the request certainly did not arrive. */
  connectionRefused(): Reply {
    return networkError('connect ECONNREFUSED', 'ECONNREFUSED');
  },
  /** The other side hung up: the request may have arrived. */
  connectionReset(): Reply {
    return networkError('other side closed', 'UND_ERR_SOCKET');
  },
  /** An answer whose body breaks off after some bytes. */
  cutAfter(
    bytes: Uint8Array | string,
    options: { status?: number; headers?: Record<string, string> } = {},
  ): Reply {
    return () => {
      const sent = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
      let first = true;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (first) controller.enqueue(sent);
          else controller.error(networkError('other side closed', 'UND_ERR_SOCKET'));
          first = false;
        },
      });
      return new Response(body, { status: options.status ?? 200, headers: options.headers ?? {} });
    };
  },
};

function networkError(message: string, code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) });
}
