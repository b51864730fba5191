import assert from 'node:assert/strict';
import { type Document, type Operation, operationOf, platform, volumes } from './documents.js';
import { observe } from './recorder.js';
import { type Answer, send } from './send.js';

/** A platform API and a key for it. */
export interface Api {
  apiUrl: string;
  apiKey: string;
}

export interface CallOptions {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  /** JSON, unless it is a Buffer. */
  body?: unknown;
  /** Default the key of the API; null sends none. */
  key?: string | null;
  headers?: Record<string, string | undefined>;
  timeoutMs?: number;
}

/** Calls an operation of the platform API. Every answer must be one that the document allows. */
export async function call(api: Api, operationId: string, options: CallOptions = {}): Promise<Answer> {
  const operation = operationOf(platform, operationId);
  const key = options.key === undefined ? api.apiKey : options.key;
  return exchange(platform, operation, api.apiUrl, {
    ...options,
    headers: { ...(key === null ? {} : { 'X-API-Key': key }), ...options.headers },
  });
}

/** Calls an operation of the volume content API. */
export function callVolume(
  apiUrl: string,
  token: string | undefined,
  operationId: string,
  options: Omit<CallOptions, 'key'> = {},
): Promise<Answer> {
  return exchange(volumes, operationOf(volumes, operationId), apiUrl, {
    ...options,
    headers: { ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }), ...options.headers },
  });
}

async function exchange(
  document: Document,
  operation: Operation,
  baseUrl: string,
  options: CallOptions,
): Promise<Answer> {
  const { body } = options;
  const raw = Buffer.isBuffer(body);
  const answer = await send(
    `${baseUrl.replace(/\/$/, '')}${fillPath(operation.path, options.path)}${queryText(options.query)}`,
    {
      method: operation.method,
      headers: {
        ...(body === undefined
          ? {}
          : { 'Content-Type': raw ? 'application/octet-stream' : 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    },
  );
  const wrong = operation.checkAnswer(answer.status, answer.headers['content-type'], answer.text);
  assert.equal(wrong, undefined, `${operation.id} (${document.name}): ${wrong}`);
  const errorCode = checkFailure(document, operation, answer);
  observe({
    operation: operation.id,
    outcome: String(answer.status),
    ...(errorCode === undefined ? {} : { errorCode }),
  });
  return answer;
}

/** Checks the form that every failure of the platform must have; gives its `error_code`. */
function checkFailure(document: Document, operation: Operation, answer: Answer): string | undefined {
  if (answer.status < 400 || document.name !== 'platform') return undefined;
  const record = answer.json() as { code: number; message: string; error_code?: string };
  assert.equal(record.code, answer.status, `${operation.id}: code mirrors the status`);
  assert.ok(record.message.length > 0, `${operation.id}: a failure has a message`);
  assert.notEqual(record.error_code, '', `${operation.id}: error_code is absent or says something`);
  return record.error_code;
}

export function fillPath(template: string, values: Record<string, string> = {}): string {
  return template.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for ${name} in ${template}`);
    return encodeURIComponent(value);
  });
}

function queryText(query: CallOptions['query'] = {}): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined
      ? []
      : (Array.isArray(value) ? (value as readonly string[]) : [String(value)]).map(
          (one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`,
        ),
  );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

export interface FailureRecord {
  code: number;
  message: string;
  error_code?: string;
}

export interface ExpectedFailure {
  status: number;
  message?: string | RegExp;
  /** `error_code`; absent: there must be none. */
  errorCode?: string;
}

/** Checks that the answer is the expected failure. */
export function assertFailure(answer: Answer, expected: ExpectedFailure): FailureRecord {
  assert.equal(
    answer.status,
    expected.status,
    `expected ${expected.status}, got ${answer.status}: ${answer.text.slice(0, 300)}`,
  );
  const record = answer.json() as FailureRecord;
  assert.equal(record.error_code, expected.errorCode, `error_code of: ${answer.text}`);
  if (typeof expected.message === 'string')
    assert.ok(record.message.startsWith(expected.message), `message: ${record.message}`);
  else if (expected.message !== undefined) assert.match(record.message, expected.message);
  return record;
}

/** The answer must have this status; gives its JSON body. */
export function assertStatus<T = Record<string, unknown>>(answer: Answer, status: number): T {
  assert.equal(
    answer.status,
    status,
    `expected ${status}, got ${answer.status}: ${answer.text.slice(0, 400)}`,
  );
  return (answer.text === '' ? undefined : answer.json()) as T;
}

/** Calls an operation that must end with this status; gives its JSON body. */
export async function callOk<T = Record<string, unknown>>(
  api: Api,
  operationId: string,
  status: number,
  options?: CallOptions,
): Promise<T> {
  return assertStatus<T>(await call(api, operationId, options), status);
}

/** Calls an operation that must fail as expected: with this status and no `error_code`, or as described. */
export async function callFails(
  api: Api,
  operationId: string,
  expected: number | ExpectedFailure,
  options?: CallOptions,
): Promise<FailureRecord> {
  const failure = typeof expected === 'number' ? { status: expected } : expected;
  return assertFailure(await call(api, operationId, options), failure);
}
