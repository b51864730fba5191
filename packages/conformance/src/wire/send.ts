import { type IncomingHttpHeaders, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { anyOf } from '@svc/support/any-of';

export interface SendOptions {
  method?: string;
  headers?: Record<string, string | undefined>;
  body?: string | Buffer | Readable | AsyncIterable<Buffer> | undefined;
  /** Longest for the whole exchange, ms. Default 120 000: more than a server takes before it answers that it cannot. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
  /** The body as JSON. @throws {Error} naming what came instead. */
  json(): unknown;
}

/** An answer whose body is still coming. */
export interface OpenAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
  /** Ends the exchange without reading on. */
  leave(): void;
}

/** Only with a time of its own, ms, does an agent keep to what `Keep-Alive` of an answer says. */
const AGENT = { keepAlive: true, maxSockets: 256, timeout: 600_000 };
const plain = new PlainAgent(AGENT);
const tls = new TlsAgent(AGENT);

/** Closes the connections that are kept for later, so that nothing outlives the run. */
export function closeConnections(): void {
  plain.destroy();
  tls.destroy();
}

/** Sends one HTTP/1.1 request exactly as given: no redirects, no retries, no decoding, any header, any Host. */
export function open(url: string, options: SendOptions = {}): Promise<OpenAnswer> {
  const { method = 'GET', headers = {}, body, timeoutMs = 120_000 } = options;
  const target = new URL(url);
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? deadline : anyOf([deadline, options.signal]);
  const given = Object.fromEntries(
    Object.entries(headers).filter(([, value]) => value !== undefined),
  ) as Record<string, string>;
  const secure = target.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const sent = (secure ? tlsRequest : plainRequest)(
      {
        host: target.hostname.replace(/^\[|\]$/g, ''),
        port: target.port || (secure ? 443 : 80),
        // Taken as it stands: a URL object would tidy `..` and odd escapes away.
        path: pathOf(url),
        method,
        headers: { host: target.host, ...lengthOf(body), ...given },
        agent: secure ? tls : plain,
        signal,
      },
      (response) => {
        response.on('error', () => {});
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: response,
          leave: () => void sent.destroy(),
        });
      },
    );
    sent.on('error', (error) =>
      reject(deadline.aborted ? new Error(`${method} ${url}: no answer in ${timeoutMs} ms`) : error),
    );
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) sent.end(body);
    else pipeline(body instanceof Readable ? body : Readable.from(body), sent, () => {});
  });
}

/** As {@link open}, with the body read to its end. */
export async function send(url: string, options: SendOptions = {}): Promise<Answer> {
  const { status, headers, body } = await open(url, options);
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  return {
    status,
    headers,
    bytes,
    text,
    json() {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Error(`${options.method ?? 'GET'} ${url}: ${status}, not JSON: ${text.slice(0, 200)}`);
      }
    },
  };
}

/** Node frames the body of some methods only when it knows the length. */
function lengthOf(body: SendOptions['body']): Record<string, string> {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return {};
  return { 'content-length': String(Buffer.byteLength(body)) };
}

function pathOf(url: string): string {
  const path = url.replace(/^[a-z]+:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}
