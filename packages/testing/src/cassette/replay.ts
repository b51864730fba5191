import type { Fetch } from '@svc/sdk';
import { json } from '../answers/refusal.js';
import { nearest } from '../faults/nearest.js';
import { CassetteError, type Exchange, fromLatin1, latin1Of, readCassette } from './format.js';
import { Redactor, redacted } from './redact.js';

/** The parts of a request that decide which recorded one it is. */
export interface ReplayRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly sandboxId: string;
  /** The body as text; JSON with sorted members. Bytes that are no text: one character for each. */
  readonly body: string;
}

/** Options for replaying. */
export interface ReplayOptions {
  /** `recorded` waits as long between pieces as it took; default `instant`. */
  timing?: 'instant' | 'recorded' | undefined;
  /**
   * Brings requests into a form that is the same in every run: called for the recorded and the live one. UUIDs, times of
   * ISO 8601, signatures and boundaries of forms are taken care of already.
   */
  normalize?: ((request: ReplayRequest) => ReplayRequest) | undefined;
  /** The secrets of this run that stand where `secrets` of the recording did. */
  secrets?: readonly string[] | undefined;
}

/** The record of a live request without an answer. */
const unanswered = { atMs: 0, answer: undefined, chunks: [], ending: { kind: 'left' } } as const;

/** A cassette that is played. */
export interface Replay {
  /** Goes into the options of a client. */
  readonly fetch: Fetch;
  /** Recorded requests that were not made yet, as `POST /v2/sandboxes`. */
  readonly unused: readonly string[];
  /** @throws CassetteError when there was a request that the cassette does not have */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Entry {
  readonly exchange: Exchange;
  readonly request: ReplayRequest;
  readonly key: string;
  used: boolean;
}

/**
 * Plays a cassette of `record`: each request is answered by the recorded one that equals it, each of those once, equal ones
 * in their order. Requests at the same time may come in another order. What was not recorded is answered with 501, which
 * shows the nearest recorded one, and `close` throws.
 * @throws CassetteError for a file that is no cassette, is of another version, or is damaged
 * @example
 * await using tape = await replay('session.jsonl');
 * const client = new Client({ fetch: tape.fetch, apiKey: 'svc_00' });
 */
export async function replay(path: string, options: ReplayOptions = {}): Promise<Replay> {
  const { normalize = (request) => request, timing = 'instant' } = options;
  const { readFile } = await import('node:fs/promises');
  const entries = readCassette(await readFile(path, 'utf8'), path).map((exchange): Entry => {
    const request = normalize(describe(exchange));
    return { exchange, request, key: keyOf(request), used: false };
  });
  /** Recorded UUIDs that clients make up, to those of this run. */
  const renamed = new Map<string, string>();
  const problems: string[] = [];
  const redactor = new Redactor(options.secrets);

  const replayFetch: Fetch = async (request, init) => {
    const signals = [request.signal, init?.signal].filter((each) => each !== null && each !== undefined);
    const signal = AbortSignal.any(signals);
    signal.throwIfAborted();
    const isStream = new URL(request.url).pathname.endsWith('/StreamInput');
    const sent = isStream ? new Uint8Array() : new Uint8Array(await request.arrayBuffer());
    const { method, url, headers } = request;
    const asked = { ...unanswered, method, url, headers: Object.fromEntries(headers), body: sent };
    // Secrets of this run stand where those of the recording did, and stay out of messages.
    redactor.learn(asked);
    const live = normalize(describe(redactor.clean(asked)));
    const liveKey = keyOf(rename(live, renamed));
    const entry = entries.find(({ used, key }) => !used && key === liveKey);
    if (!entry) {
      const problem = explain(path, live, entries);
      problems.push(problem);
      return json(501, { code: 501, message: problem });
    }
    entry.used = true;
    learn(entry.request, live, renamed);
    // The input of a program: its answer comes when the input has ended.
    if (isStream) await drain(request, signal);
    return play(entry.exchange, { signal, timing, renamed });
  };

  const close = () => {
    const [first, ...others] = problems;
    if (first === undefined) return;
    throw new CassetteError(others.length === 0 ? first : `${first}\n(and ${others.length} more)`);
  };
  return {
    fetch: replayFetch,
    get unused() {
      return entries.flatMap(({ used, request }) => (used ? [] : [`${request.method} ${request.path}`]));
    },
    close,
    async [Symbol.asyncDispose]() {
      close();
    },
  };
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const placeholders = new RegExp(redacted, 'g');
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

function describe({ method, url: address, headers: given, body }: Exchange): ReplayRequest {
  const url = new URL(address);
  const headers = new Headers(given);
  for (const name of ['signature', 'signature_expiration', 'svc_preview']) url.searchParams.delete(name);
  const own = /^(\d+)-([a-z0-9]+)\./.exec(url.hostname);
  const boundary = /boundary="?([^";]+)/.exec(headers.get('Content-Type') ?? '')?.[1];
  const text = latin1Of(body);
  return {
    method,
    path: `${url.pathname}${url.search}`,
    sandboxId: headers.get('Svc-Sandbox-Id') ?? own?.[2] ?? '',
    body: url.pathname.endsWith('/StreamInput')
      ? ''
      : canonical(boundary === undefined ? text : text.replaceAll(boundary, 'boundary')),
  };
}

function canonical(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    );
  } catch {
    return text;
  }
}

function keyOf({ method, path, sandboxId, body }: ReplayRequest): string {
  const text = [method, path, sandboxId, body].join('\n');
  return text.replace(uuids, '<uuid>').replace(times, '<time>').replace(placeholders, '<redacted>');
}

/** A request in the ids of the recording. */
function rename(request: ReplayRequest, renamed: ReadonlyMap<string, string>): ReplayRequest {
  if (renamed.size === 0) return request;
  const back = new Map([...renamed].map(([recorded, live]) => [live, recorded]));
  const swap = (text: string) => text.replace(uuids, (uuid) => back.get(uuid) ?? uuid);
  return { ...request, path: swap(request.path), body: swap(request.body) };
}

/** Remembers which UUID of the recording stands for which of this run. */
function learn(recorded: ReplayRequest, live: ReplayRequest, renamed: Map<string, string>): void {
  const ofRecorded = `${recorded.path}\n${recorded.body}`.match(uuids) ?? [];
  const ofLive = `${live.path}\n${live.body}`.match(uuids) ?? [];
  if (ofRecorded.length !== ofLive.length) return;
  for (const [index, uuid] of ofRecorded.entries())
    if (uuid !== ofLive[index]) renamed.set(uuid, ofLive[index] as string);
}

function play(
  { answer, chunks, ending }: Exchange,
  way: { signal: AbortSignal; timing: 'instant' | 'recorded'; renamed: ReadonlyMap<string, string> },
): Promise<Response> | Response {
  const { signal, timing, renamed } = way;
  if (!answer) {
    if (ending.kind === 'complete' || ending.kind === 'left') return untilAborted(signal);
    throw new TypeError('fetch failed', { cause: failureOf(ending) });
  }
  const { status, headers } = answer;
  if (chunks.length === 0 && ending.kind === 'complete') return new Response(null, { status, headers });
  let index = 0;
  let lastMs = answer.atMs;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        signal.addEventListener('abort', () => controller.error(signal.reason), { once: true });
      },
      async pull(controller) {
        const chunk = chunks[index++];
        if (chunk) {
          if (timing === 'recorded') await new Promise((resolve) => setTimeout(resolve, chunk.atMs - lastMs));
          lastMs = chunk.atMs;
          if (!signal.aborted) controller.enqueue(inThisRun(chunk.bytes, renamed));
        } else if (ending.kind === 'complete') controller.close();
        else if (ending.kind === 'left') await untilAborted(signal).catch(() => {});
        else controller.error(new TypeError('terminated', { cause: failureOf(ending) }));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}

/** Bytes with the ids of this run. Those are as long as the recorded ones, so that lengths in messages stay right. */
function inThisRun(bytes: Uint8Array, renamed: ReadonlyMap<string, string>): Uint8Array {
  if (renamed.size === 0) return bytes;
  const text = latin1Of(bytes);
  const changed = text.replace(uuids, (uuid) => renamed.get(uuid) ?? uuid);
  return changed === text ? bytes : fromLatin1(changed);
}

function failureOf({ message, code }: { message: string; code?: string }): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

async function drain(request: Request, signal: AbortSignal): Promise<void> {
  const reader = request.body?.getReader();
  if (!reader) return;
  const aborted = untilAborted(signal);
  aborted.catch(() => {});
  while (!(await Promise.race([reader.read(), aborted])).done);
}

/** Says what was asked for, and what the nearest recorded request is. */
function explain(path: string, live: ReplayRequest, entries: readonly Entry[]): string {
  const place = ({ method, path: where, sandboxId }: ReplayRequest) =>
    `${method} ${where}${sandboxId === '' ? '' : ` (sandbox ${sandboxId})`}`;
  const show = (request: ReplayRequest) =>
    `${place(request)}${request.body === '' ? '' : ` with ${JSON.stringify(request.body.slice(0, 300))}`}`;
  const said = `replay: ${path} has no answer for ${show(live)}.`;
  const left = entries.filter(({ used }) => !used);
  if (left.length === 0)
    return `${said} All ${entries.length} recorded requests were made already. Record the session again with record().`;
  const best = nearest(place(live), new Set(left.map(({ request }) => place(request))));
  const same = left.filter(({ request }) => place(request) === best);
  const body = nearest(
    live.body.slice(0, 300),
    new Set(same.map(({ request }) => request.body.slice(0, 300))),
  );
  const found = same.find(({ request }) => request.body.slice(0, 300) === body) ?? (same[0] as Entry);
  return `${said} The nearest recorded one of ${left.length} that are left is ${show(found.request)}. If it should match, bring both into one form with the option normalize; else record the session again.`;
}
