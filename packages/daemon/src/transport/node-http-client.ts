import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Code, ConnectError } from '@connectrpc/connect';
import type {
  UniversalClientFn,
  UniversalClientRequest,
  UniversalClientResponse,
} from '@connectrpc/connect/protocol';
import { collect } from './collect.js';

/**
 * The HTTP client that Connect needs, over Node's own, for calls whose request is one message: it leaves in one write
 * with its head, where a stream takes three, and as many on every hop.
 */
export const sendWhole: UniversalClientFn = (request) => send(request, false);

/** As `sendWhole`, for calls whose connection does not keep the program running. */
export const sendUnheld: UniversalClientFn = (request) => send(request, true);

async function send(
  { url, method, header, body, signal }: UniversalClientRequest,
  unref: boolean,
): Promise<UniversalClientResponse> {
  const content = body && (await collect(body));
  return new Promise((resolve, reject) => {
    const open = url.startsWith('https:') ? httpsRequest : httpRequest;
    const request = open(url, { method, headers: Object.fromEntries(header) });
    // The next call that gets the connection from the agent takes hold of it again.
    if (unref) request.once('socket', (socket) => socket.unref());
    let answer: IncomingMessage | undefined;
    const abort = (): void => {
      const reason = failureOf(signal?.reason);
      reject(reason);
      answer?.destroy(reason);
      request.destroy(reason);
    };
    request.once('close', () => signal?.removeEventListener('abort', abort));
    request.on('error', (error) => reject(failureOf(error)));
    request.once('response', (response) => {
      answer = response;
      const trailer = new Headers();
      resolve({
        status: response.statusCode ?? 0,
        header: webHeaders(response.rawHeaders),
        body: bodyOf(response, signal),
        trailer,
      });
    });
    if (signal?.aborted) abort();
    else {
      signal?.addEventListener('abort', abort, { once: true });
      request.end(content);
    }
  });
}

/** The body of an answer, in pieces. */
export async function* bodyOf(
  response: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failureOf(signal?.aborted ? signal.reason : error);
  }
}

/** Headers of Node in the shape of the web. */
export function webHeaders(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < raw.length; index += 2)
    headers.append(raw[index] ?? '', raw[index + 1] ?? '');
  return headers;
}

const CODES: Readonly<Record<string, Code>> = {
  ECONNRESET: Code.Aborted,
  ERR_STREAM_DESTROYED: Code.Aborted,
  ERR_STREAM_WRITE_AFTER_END: Code.Aborted,
  EAI_AGAIN: Code.Unavailable,
  ECONNREFUSED: Code.Unavailable,
  ENOTFOUND: Code.Unavailable,
  ETIMEDOUT: Code.Unavailable,
};

/** A failure of the connection as the library's other client for Node reports it. */
function failureOf(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const code = (reason as NodeJS.ErrnoException | undefined)?.code;
  const error = ConnectError.from(reason, CODES[code ?? ''] ?? Code.Internal);
  error.cause = reason;
  return error;
}
