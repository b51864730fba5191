import { IncusError } from './incus-error.js';

/** The operation that a call started in the background. */
export interface StartedOperation {
  operationId: string;
  /** The data that is known from the beginning, such as the secret of a token. */
  metadata: unknown;
}

/** One answer of the REST API. */
export type Answer = { kind: 'done'; metadata: unknown } | { kind: 'started'; operation: StartedOperation };

/** The most characters of a failure that go to logs. */
const MOST_WORDS = 2_000;

const OPERATION = /^\/1\.0\/operations\/([0-9a-f-]{36})(?:\?|$)/;

/**
 * Reads the envelope that every answer has. Pure.
 * @throws {IncusError} with the status and words of Incus, or saying that it is not Incus that answered.
 */
export function readAnswer(status: number, body: string): Answer {
  const envelope = parse(body);
  if (envelope === undefined) {
    throw new IncusError(status, `What answers is not Incus (status ${status}).`);
  }
  if (envelope.type === 'error' || status >= 400) {
    const code =
      typeof envelope.error_code === 'number' && envelope.error_code > 0 ? envelope.error_code : status;
    throw new IncusError(code, wordsOf(envelope.error) || `Incus answered ${status}.`);
  }
  if (envelope.type === 'async') {
    const id = typeof envelope.operation === 'string' ? OPERATION.exec(envelope.operation)?.[1] : undefined;
    if (id === undefined) throw new IncusError(status, 'Incus started an operation without a name.');
    const { metadata } = (envelope.metadata ?? {}) as { metadata?: unknown };
    return { kind: 'started', operation: { operationId: id, metadata } };
  }
  return { kind: 'done', metadata: envelope.metadata };
}

/** State of an operation as `GET /1.0/operations/ID/wait` reports it. Undefined: it continues. Pure. @throws {IncusError} */
export function readOperation(metadata: unknown): { metadata: unknown } | undefined {
  const state = metadata as { status_code?: unknown; err?: unknown; metadata?: unknown } | null;
  const code = Number(state?.status_code);
  if (code === 200) return { metadata: state?.metadata };
  // 1xx: created, running, pending.
  if (code >= 100 && code < 200) return undefined;
  const message = wordsOf(state?.err) || 'The operation of Incus failed.';
  throw new IncusError(code === 401 ? 499 : statusOf(message), message);
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MOST_WORDS) : '';
}

/** A failed operation has words only; some of them say what a status would. */
function statusOf(message: string): number {
  if (/not found/i.test(message)) return 404;
  if (/already exists|already in use/i.test(message)) return 409;
  return 500;
}

function parse(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const known =
      typeof value === 'object' &&
      value !== null &&
      ['sync', 'async', 'error'].includes(String((value as { type?: unknown }).type));
    return known ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
