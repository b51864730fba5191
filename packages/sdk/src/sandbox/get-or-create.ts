import type { ClientCore } from '../calls/client-core.js';
import { Deadline, sleep } from '../core/deadline.js';
import { ConflictError, InvalidRequestError } from '../errors/answer-errors.js';
import { TimeoutError } from '../errors/connection-errors.js';
import { unlessMissing } from '../errors/unless-missing.js';
import type { CreateSandboxOptions } from './options.js';
import { connectSandbox, createOnce, listSandboxes, type SandboxTarget } from './sandbox-api.js';

/** Settings of a sandbox that is found by its name, or made. */
export interface GetOrCreateOptions extends Omit<CreateSandboxOptions, 'idempotencyKey'> {
  /** Its name within the team, kept as `metadata.name`. Not empty. */
  name: string;
}

const operation = 'sandboxes.getOrCreate';
const pauseMs = 100;

/** The outcome of asking for a new sandbox under a name. */
type Attempt =
  | { made: SandboxTarget }
  /** Somebody else is about to make it. */
  | 'busy'
  /** This turn was taken earlier: by a sandbox that is found or deleted, or by a failure. */
  | 'used';

/**
 * Finds the sandbox of a name or makes it, one however many ask at once: creates of one name share an idempotency key. A key
 * serves for a day, so they are numbered by turns, which everybody counts from 0: the next begins where nothing is found
 * although the last was used.
 */
export async function getOrCreateSandbox(
  core: ClientCore,
  { name, ...settings }: GetOrCreateOptions,
): Promise<SandboxTarget> {
  if (name === '') throw new InvalidRequestError(`${operation}: the name is empty.`, { operation });
  const deadline = new Deadline({
    signal: settings.signal,
    timeoutMs: settings.requestTimeoutMs ?? core.config.requestTimeoutMs,
    onTimeout: (limitMs) =>
      new TimeoutError(
        `${operation}: sandbox ${JSON.stringify(name)} was neither found nor made within ${limitMs} ms. Raise requestTimeoutMs.`,
        { option: 'requestTimeoutMs', limitMs, operation },
      ),
  });
  try {
    return await deadline.run(async (signal) => {
      const create = { ...settings, metadata: { ...settings.metadata, name }, signal, requestTimeoutMs: 0 };
      for (let turn = 0; ; ) {
        const found = await findByName(core, create);
        if (found !== undefined) return found;
        const attempt = await tryToCreate(core, { ...create, idempotencyKey: await keyOf(name, turn) });
        if (typeof attempt === 'object') return attempt.made;
        // The sandbox of a used turn may have come into being since the search: search again first.
        if (attempt === 'used') turn += 1;
        else await sleep(pauseMs, signal);
      }
    });
  } finally {
    deadline.release();
  }
}

/** The oldest of the name that can be connected to. */
async function findByName(
  core: ClientCore,
  {
    metadata,
    timeoutMs,
    signal,
    requestTimeoutMs,
    maxRetries,
  }: CreateSandboxOptions & { metadata: { name: string } },
): Promise<SandboxTarget | undefined> {
  const limits = { signal, requestTimeoutMs, maxRetries };
  const named = listSandboxes(core, { ...limits, metadata: { name: metadata.name }, order: 'asc' });
  for await (const { sandboxId } of named) {
    const target = await unlessMissing(connectSandbox(core, sandboxId, { ...limits, timeoutMs }, operation));
    if (target !== undefined) return target;
  }
  return undefined;
}

/** @throws the failure of a create that nobody had tried before */
async function tryToCreate(core: ClientCore, options: CreateSandboxOptions): Promise<Attempt> {
  // A create that fails is repeated by the call, and what comes then is its own failure again, not an earlier one.
  let [failed, replayed] = [false, false];
  const onAnswer = ({ ok, status, headers }: Response) => {
    replayed = headers.has('idempotency-replayed');
    failed ||= !(ok || replayed || status === 409);
  };
  try {
    const made = await createOnce(core, options, { operation, onAnswer });
    return replayed ? 'used' : { made };
  } catch (error) {
    if (failed) throw error;
    const reason = ConflictError.is(error) ? error.errorCode : undefined;
    if (reason === 'idempotency_in_progress') return 'busy';
    if (replayed || reason?.startsWith('idempotency_')) return 'used';
    throw error;
  }
}

/** Key of one turn of a name: names have letters that keys have not. */
async function keyOf(name: string, turn: number): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${turn} ${name}`));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
