import assert from 'node:assert/strict';
import { FLAG_END, type Frame, frame, readFrames, splitFrames } from '@svc/support/connect-frames';
import { observe } from './recorder.js';
import { type Answer, type OpenAnswer, open, type SendOptions, send } from './send.js';

export const DAEMON_PORT = 49983;
const STREAMING = { 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1' };

/** A daemon behind a gateway. */
export interface Daemon {
  sandboxUrl: string;
  sandboxId: string;
  accessToken: string;
}

export interface DaemonCallOptions extends SendOptions {
  /** User of the sandbox, sent as HTTP Basic. */
  user?: string | undefined;
  /** Default the daemon's; null sends none. */
  token?: string | null | undefined;
}

/** The headers by which a request reaches a daemon. */
export function daemonHeaders(
  daemon: Daemon,
  { user, token = daemon.accessToken }: Pick<DaemonCallOptions, 'user' | 'token'> = {},
) {
  return {
    'Svc-Sandbox-Id': daemon.sandboxId,
    'Svc-Sandbox-Port': String(DAEMON_PORT),
    'X-Access-Token': token ?? undefined,
    Authorization: user === undefined ? undefined : basic(user),
  };
}

export function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:`).toString('base64')}`;
}

/** A plain HTTP request to the daemon. */
export function daemonSend(daemon: Daemon, path: string, options: DaemonCallOptions = {}): Promise<Answer> {
  const { user, token, headers, ...rest } = options;
  return send(`${daemon.sandboxUrl}${path}`, {
    ...rest,
    headers: {
      ...daemonHeaders(daemon, { user, token }),
      ...headers,
    },
  });
}

/** A unary RPC with a JSON body, answered by JSON or by the record of an error. */
export async function unary(
  daemon: Daemon,
  procedure: string,
  message: unknown,
  options: DaemonCallOptions = {},
): Promise<Answer> {
  const answer = await daemonSend(daemon, `/${procedure}`, {
    method: 'POST',
    body: typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
    ...options,
    headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1', ...options.headers },
  });
  observe({ operation: procedure, outcome: answer.status === 200 ? 'ok' : codeOf(answer) });
  return answer;
}

function codeOf(answer: Answer): string {
  try {
    const { code } = answer.json() as { code?: unknown };
    return typeof code === 'string' ? code : String(answer.status);
  } catch {
    return String(answer.status);
  }
}

/** A unary RPC that must succeed. */
export async function unaryOk<T = Record<string, unknown>>(
  daemon: Daemon,
  procedure: string,
  message: unknown,
  options: DaemonCallOptions = {},
): Promise<T> {
  const answer = await unary(daemon, procedure, message, options);
  assert.equal(answer.status, 200, `${procedure}: ${answer.status} ${answer.text.slice(0, 300)}`);
  assert.equal(answer.headers['content-type'], 'application/json');
  return answer.json() as T;
}

export const HTTP_OF_CODE: Record<string, number> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
};

/** A unary RPC that must fail with this Connect code, and with the HTTP status that belongs to it. */
export async function unaryFails(
  daemon: Daemon,
  procedure: string,
  message: unknown,
  code: string,
  options: DaemonCallOptions & { text?: RegExp } = {},
): Promise<void> {
  const { text, ...rest } = options;
  const answer = await unary(daemon, procedure, message, rest);
  const record = answer.json() as { code?: string; message?: string };
  assert.equal(record.code, code, `${procedure}: ${answer.status} ${answer.text.slice(0, 300)}`);
  assert.equal(answer.status, HTTP_OF_CODE[code], `HTTP status of ${code}`);
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
  if (text !== undefined) assert.match(record.message ?? '', text);
}

export interface EndOfStream {
  error?: { code: string; message?: string };
  metadata?: unknown;
}

/** A streaming RPC whose answer is open. */
export interface RpcStream {
  answer: OpenAnswer;
  /** Data messages in order; returns at the end frame. */
  messages: AsyncGenerator<Record<string, unknown>, void, undefined>;
  /** The end frame's object; defined once `messages` ended by it. */
  end(): EndOfStream | undefined;
  leave(): void;
}

/** Opens a streaming RPC. `body` is sent as it is; a message is framed. */
export async function stream(
  daemon: Daemon,
  procedure: string,
  message: unknown,
  options: DaemonCallOptions = {},
): Promise<RpcStream> {
  const { user, token, headers, ...rest } = options;
  const answer = await open(`${daemon.sandboxUrl}/${procedure}`, {
    method: 'POST',
    body: frame(message),
    timeoutMs: 120_000,
    ...rest,
    headers: {
      ...daemonHeaders(daemon, { user, token }),
      ...STREAMING,
      ...headers,
    },
  });
  let end: EndOfStream | undefined;
  async function* messages(): AsyncGenerator<Record<string, unknown>, void, undefined> {
    for await (const one of readFrames(answer.body)) {
      if ((one.flags & FLAG_END) === 0) {
        yield one.json();
        continue;
      }
      end = one.json() as EndOfStream;
      observe({ operation: procedure, outcome: end.error?.code ?? 'ok' });
      return;
    }
  }
  return { answer, messages: messages(), end: () => end, leave: () => answer.leave() };
}

/** A client-streaming call whose frames are all sent as one body. */
export async function sendStream(
  daemon: Daemon,
  procedure: string,
  body: Buffer,
  options: DaemonCallOptions = {},
): Promise<{ answer: Answer; frames: Frame[]; end: EndOfStream | undefined }> {
  const answer = await daemonSend(daemon, `/${procedure}`, {
    method: 'POST',
    body,
    ...options,
    headers: { ...STREAMING, ...options.headers },
  });
  const framed = (answer.headers['content-type'] ?? '').startsWith('application/connect+');
  const frames = framed ? splitFrames(answer.bytes) : [];
  const last = frames.at(-1);
  const end = last !== undefined && (last.flags & FLAG_END) !== 0 ? (last.json() as EndOfStream) : undefined;
  observe({ operation: procedure, outcome: framed ? (end?.error?.code ?? 'ok') : String(answer.status) });
  return { answer, frames, end };
}

/** A streaming call that must fail: HTTP 200, no message, one end frame with this code. */
export async function streamFails(
  daemon: Daemon,
  procedure: string,
  message: unknown,
  code: string,
  options: DaemonCallOptions & { text?: RegExp } = {},
): Promise<void> {
  const { text, ...rest } = options;
  const body = Buffer.isBuffer(message) ? message : frame(message);
  const { answer, frames, end } = await sendStream(daemon, procedure, body, rest);
  assert.equal(answer.status, 200, answer.text.slice(0, 300));
  assert.equal(answer.headers['content-type'], 'application/connect+json');
  assert.equal(frames.length, 1, `one frame: ${answer.text.slice(0, 300)}`);
  assert.equal(frames[0]!.flags, FLAG_END);
  assert.equal(end?.error?.code, code, answer.text.slice(0, 300));
  if (text !== undefined) assert.match(end?.error?.message ?? '', text);
}
