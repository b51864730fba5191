import type { Fetch } from '@svc/sdk';
import { type Chunk, type Ending, type Exchange, writeCassette } from './format.js';
import { Redactor } from './redact.js';

/** Options for recording. */
export interface RecordOptions {
  /** The `fetch` that sends the requests. Default: the global one. */
  fetch?: Fetch | undefined;
  /**
   * Values that must not reach the file, besides the keys, tokens and secrets that the kit knows: those of your own
   * programs. They are taken out wherever they stand.
   */
  secrets?: readonly string[] | undefined;
}

/** A recording under way. */
export interface Recording {
  /** Goes into the options of a client. */
  readonly fetch: Fetch;
  /** Ends it, and writes the file. Streams that are still open are written as far as they came. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Draft = { -readonly [Key in keyof Exchange]: Exchange[Key] } & { chunks: Chunk[]; sent: Promise<void> };

/** Of the connection, not of the answer; a body is recorded without its encoding. */
const passing = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

/**
 * Records a real session into a file, one line of JSON for each event, to be played by `replay`. Keys, tokens and secrets
 * are taken out always. The file is written by `close`.
 * @example
 * await using recording = record('session.jsonl');
 * const client = new Client({ fetch: recording.fetch });
 */
export function record(path: string, options: RecordOptions = {}): Recording {
  const send: Fetch = options.fetch ?? ((request, init) => globalThis.fetch(request, init));
  const startedAt = new Date().toISOString();
  const start = performance.now();
  const now = () => Math.round(performance.now() - start);
  const drafts: Draft[] = [];
  let closing: Promise<void> | undefined;

  const recordingFetch: Fetch = async (request, init) => {
    if (closing) throw new Error(`record: the recording of ${path} is closed already.`);
    const draft: Draft = {
      atMs: now(),
      method: request.method,
      url: request.url,
      headers: headersOf(request.headers),
      body: new Uint8Array(),
      answer: undefined,
      chunks: [],
      ending: { kind: 'left' },
      sent: Promise.resolve(),
    };
    drafts.push(draft);
    if (request.body) draft.sent = keepBody(request.clone(), draft);
    let response: Response;
    try {
      response = await send(request, init);
    } catch (error) {
      draft.ending =
        init?.signal?.aborted || request.signal.aborted ? { kind: 'left' } : failure('failed', error);
      throw error;
    }
    draft.answer = { atMs: now(), status: response.status, headers: headersOf(response.headers) };
    if (!response.body) {
      draft.ending = { kind: 'complete' };
      return response;
    }
    const { status, statusText, headers } = response;
    return new Response(follow(response.body, draft, now), { status, statusText, headers });
  };

  const close = async () => {
    await Promise.all(drafts.map(({ sent, ending }) => (ending.kind === 'complete' ? sent : undefined)));
    const exchanges = drafts.map(({ sent: _, ...exchange }) => exchange);
    const redactor = new Redactor(options.secrets);
    for (const exchange of exchanges) redactor.learn(exchange);
    const text = writeCassette(
      exchanges.map((exchange) => redactor.clean(exchange)),
      startedAt,
    );
    const { writeFile } = await import('node:fs/promises');
    await writeFile(path, text, { mode: 0o600 });
  };
  const closeOnce = () => {
    closing ??= close();
    return closing;
  };
  return { fetch: recordingFetch, close: closeOnce, [Symbol.asyncDispose]: closeOnce };
}

/** Keeps what is sent, as far as it came. */
async function keepBody(copy: Request, draft: Draft): Promise<void> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of copy.body as unknown as AsyncIterable<Uint8Array>) {
      parts.push(part.slice());
      draft.body = concat(parts);
    }
  } catch {
    // The request was given up: what was sent until then is what is known.
  }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function follow(
  body: ReadableStream<Uint8Array>,
  draft: Draft,
  now: () => number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            draft.ending = { kind: 'complete' };
            controller.close();
            return;
          }
          draft.chunks.push({ atMs: now(), bytes: value.slice() });
          controller.enqueue(value);
        } catch (error) {
          const left = error instanceof Error && error.name === 'AbortError';
          draft.ending = left ? { kind: 'left' } : failure('broken', error);
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function headersOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !passing.has(name)));
}

function failure(kind: 'broken' | 'failed', error: unknown): Ending {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  const { code, message: reason } = (cause ?? {}) as { code?: string; message?: string };
  return { kind, message: reason ?? message, ...(typeof code === 'string' ? { code } : {}) };
}
