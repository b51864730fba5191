import { ApiError, type ErrorRecord } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';

/** A node's request to another one to start forks. All of it is in the URL, which the token between nodes covers. */
export interface ForkCall {
  checkpointId: string;
  /** The ids of the forks: the asking node knows them, also when no answer comes. */
  sandboxIds: string[];
  /** Time to live of each fork, seconds. */
  timeoutSeconds: number;
  /** Number of the last log entry before the checkpoint. */
  logsFrom: number;
  /** Its time limit, ms. */
  withinMs: number;
}

/** The outcome of one fork in the answer. */
export type ForkEntry = { sandboxID: string } | { error: ErrorRecord };

/** Forks of one request, at most: as many as a client may ask for. */
const MOST_FORKS = 100;
/** Characters of the reason that another node gives for one fork. */
const MAX_REASON = 1_000;

/** @wire `POST /node/forks/{checkpoint}` between nodes */
export function forkCallUrl({ checkpointId, sandboxIds, ...numbers }: ForkCall): string {
  const query = new URLSearchParams({
    timeoutSeconds: String(numbers.timeoutSeconds),
    logsFrom: String(numbers.logsFrom),
    withinMs: String(numbers.withinMs),
  });
  return `/node/forks/${checkpointId}?ids=${sandboxIds.join('.')}&${query}`;
}

/** @throws {ApiError} 400 */
export function readForkCall(
  checkpointId: string,
  query: Readonly<Partial<Record<keyof ForkCall | 'ids', unknown>>>,
): ForkCall {
  if (!/^fork-[0-9a-f-]{36}$/.test(checkpointId)) throw errors.badRequest('no checkpoint of forks');
  return {
    checkpointId,
    sandboxIds: readSandboxIds(query.ids),
    timeoutSeconds: countOf(query.timeoutSeconds),
    logsFrom: countOf(query.logsFrom),
    withinMs: countOf(query.withinMs),
  };
}

/** @throws {ApiError} 400 */
export function readSandboxIds(value: unknown): string[] {
  const ids = typeof value === 'string' ? value.split('.') : [];
  if (ids.length === 0 || ids.length > MOST_FORKS || new Set(ids).size < ids.length)
    throw errors.badRequest('no ids of forks');
  if (!ids.every((id) => /^i[a-z0-9]{20}$/.test(id))) throw errors.badRequest('no ids of forks');
  return ids;
}

function countOf(value: unknown): number {
  if (typeof value !== 'string' || !/^\d{1,10}$/.test(value)) throw errors.badRequest('not a count');
  return Number(value);
}

/**
 * Reads what another node says of the forks that it was asked for, which may be anything.
 * @returns for each of them, in order, true or why there is none
 * @throws {TypeError} when it is not an answer to that
 */
export function readForkAnswer(text: string, sandboxIds: readonly string[]): (true | ApiError)[] {
  const entries: unknown = JSON.parse(text);
  if (!Array.isArray(entries) || entries.length !== sandboxIds.length)
    throw new TypeError('the other server does not say what became of the forks');
  return entries.map((entry: unknown, index) => {
    const { sandboxID, error } = (entry ?? {}) as { sandboxID?: unknown; error?: unknown };
    if (error !== undefined) return readError(error);
    if (sandboxID === sandboxIds[index]) return true;
    throw new TypeError('the other server names forks that it was not asked for');
  });
}

/** An error that another node gives. What it cannot be becomes a plain 500. */
export function readError(value: unknown): ApiError {
  const { code, message, error_code: errorCode } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (typeof code !== 'number' || !Number.isInteger(code) || code < 400 || code > 599)
    return errors.internal();
  if (typeof message !== 'string' || message.length > MAX_REASON) return errors.internal();
  const known = typeof errorCode === 'string' && /^[a-z_]{1,64}$/.test(errorCode);
  return new ApiError({ status: code, message, ...(known ? { errorCode } : {}) });
}
