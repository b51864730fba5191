import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { passedHeaders } from './page-headers.js';

/** Headers of a request that the platform API and daemons need. The server itself writes cookies and credentials. */
const SENT =
  /^(accept|accept-encoding|authorization|connect-.*|content-length|content-type|idempotency-key|keepalive-ping-interval|range|svc-sandbox-id|svc-sandbox-port|transfer-encoding)$/;

/** Headers of an answer that a page may see: none that could act on the browser. */
const SHOWN =
  /^(connect-.*|content-encoding|content-length|content-type|deprecation|grpc-.*|ratelimit-.*|retry-after|x-next-token|x-request-id|x-total-running)$/;

/** Headers of a request as they are passed on, with those that the server adds. */
export function sentHeaders(headers: IncomingHttpHeaders, added: Record<string, string>): string[] {
  const sent: string[] = [];
  for (const [name, value] of Object.entries(headers))
    if (SENT.test(name) && typeof value === 'string') sent.push(name, value);
  for (const [name, value] of Object.entries(added)) sent.push(name, value);
  return sent;
}

/** Headers of an answer as the page gets them. */
export function shownHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (SHOWN.test(name) && typeof value === 'string') shown[name] = value;
  return { ...shown, ...passedHeaders };
}

/** Sends a request on and gives its answer; rejects when it breaks off before. Who leaves ends both. */
export function passOn(
  req: IncomingMessage,
  res: ServerResponse,
  send: () => ClientRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const onward = send();
    onward.on('error', reject);
    onward.on('response', resolve);
    res.once('close', () => {
      if (!res.writableFinished) onward.destroy();
    });
    req.pipe(onward);
  });
}

/** Gives an answer to the browser as it comes. */
export function relay(answer: IncomingMessage, res: ServerResponse): void {
  res.writeHead(answer.statusCode ?? 502, shownHeaders(answer.headers));
  // The head of a stream must not wait for its first message.
  res.flushHeaders();
  answer.on('error', () => res.destroy());
  answer.once('close', () => {
    if (!answer.complete) res.destroy();
  });
  answer.pipe(res);
}
