import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Has an answer say for how long its connection is kept, in the place of what the server was told for all of them.
 * @param keepAlive asked when the head is written, when it is known who sent the request: value of `Keep-Alive`, or undefined to
 * leave it to the server
 */
export function announceKept(response: ServerResponse, keepAlive: () => string | undefined): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    reason?: string,
    headers?: Headers,
  ) => ServerResponse;
  response.writeHead = (status: number, ...rest: [(string | Headers)?, Headers?]) => {
    const [first, second] = rest;
    const [reason, headers] = typeof first === 'object' ? [undefined, first] : [first, second];
    const value = closes(response, headers) ? undefined : keepAlive();
    return writeHead(status, reason, value === undefined ? headers : withKeepAlive(headers, value));
  };
}

function withKeepAlive(headers: Headers | undefined, value: string): Headers {
  return Array.isArray(headers) ? [...headers, 'Keep-Alive', value] : { ...headers, 'Keep-Alive': value };
}

/** Whether the connection ends with this answer. */
function closes(response: ServerResponse, headers: Headers = {}): boolean {
  if (!response.shouldKeepAlive || response.getHeader('connection') === 'close') return true;
  return !Array.isArray(headers) && (headers.Connection ?? headers.connection) === 'close';
}
