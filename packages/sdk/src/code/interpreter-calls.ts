import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { defined } from '../core/wire-values.js';
import { sandboxGone } from '../daemon/explain-failure.js';
import { findReason } from '../daemon/find-reason.js';
import { ConflictError, ServerError } from '../errors/answer-errors.js';
import { errorFromAnswer } from '../errors/from-answer.js';

/** Port of the interpreter server. */
export const interpreterPort = 49_999;

/** Bytes of an answer that is no stream. */
const longestAnswer = 1024 * 1024;

/** The way to the interpreter server of a sandbox. */
export interface InterpreterRoute {
  core: ClientCore;
  sandboxId: string;
  /** Sends a request to a port of the sandbox. */
  fetch(
    port: number,
    path: string,
    init: RequestInit & Pick<RequestOptions, 'requestTimeoutMs'>,
  ): Promise<Response>;
}

/** One request to it. */
export interface InterpreterCall {
  operation: string;
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: Record<string, unknown> | undefined;
  options: RequestOptions;
}

/** Sends a request, and gives an answer that says yes. @throws what its refusal means */
export async function callInterpreter(
  { core, sandboxId, fetch }: InterpreterRoute,
  { operation, method, path, body, options }: InterpreterCall,
): Promise<Response> {
  const { signal, requestTimeoutMs } = options;
  const response = await fetch(interpreterPort, path, {
    method,
    signal: signal ?? null,
    ...defined({ requestTimeoutMs }),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(defined(body)), headers: { 'Content-Type': 'application/json' } }),
  });
  if (response.ok) return response;
  const { status, headers } = response;
  const text = await readShort(response);
  const record = gatewayRecord(text, sandboxId, status);
  if (record !== undefined && (status === 409 || /is not open/.test(record))) throw noInterpreter(operation);
  if (record !== undefined && status === 502) {
    throw sandboxGone(operation, sandboxId, await findReason(core, sandboxId, signal));
  }
  throw errorFromAnswer({
    status,
    headers,
    body: record === undefined ? text : JSON.parse(text),
    service: 'sandbox',
    operation,
    nowMs: Date.now(),
  });
}

/** The JSON of a short answer. */
export async function readAnswer<T>(
  response: Response,
  operation: string,
  convert: (value: unknown) => T,
): Promise<T> {
  const text = await readShort(response);
  try {
    return convert(JSON.parse(text));
  } catch (cause) {
    throw notAnInterpreter(operation, (cause as Error).message, cause);
  }
}

/** Something else listens there, or the program was replaced. */
export function notAnInterpreter(operation: string, what: string, cause?: unknown): ServerError {
  return new ServerError(
    `${operation}: what answers on port ${interpreterPort} of the sandbox is not an interpreter server as expected: ${what}. Create the sandbox from the template 'code-interpreter'.`,
    { operation, code: 'not_an_interpreter', retryable: false, cause },
  );
}

function noInterpreter(operation: string): ConflictError {
  return new ConflictError(
    `${operation}: nothing listens on port ${interpreterPort} of the sandbox, so it has no code interpreter. Create it with { template: 'code-interpreter' }; \`svc template build --builtin code-interpreter\` builds that template once.`,
    { operation, code: 'no_code_interpreter' },
  );
}

/** The message of the gateway's own refusal; undefined for an answer from inside. */
function gatewayRecord(text: string, sandboxId: string, status: number): string | undefined {
  try {
    const record = JSON.parse(text) as Record<string, unknown> | null;
    if (record?.sandboxId !== sandboxId || record.code !== status) return undefined;
    return String(record.message);
  } catch {
    return undefined;
  }
}

/** A text that a program of the sandbox sent: no more than it may have to say. */
async function readShort(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length > longestAnswer) return text.slice(0, longestAnswer);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
