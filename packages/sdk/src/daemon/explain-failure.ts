import type { CallContext } from '../core/call-context.js';
import { SandboxGoneError, type SandboxGoneReason } from '../errors/connection-errors.js';
import { connectCode, errorFromConnect, isConnectFailure } from '../errors/from-connect.js';
import { errorFromNetwork, isNetworkFailure, networkCode } from '../errors/from-network.js';
import { SvcError } from '../errors/svc-error.js';
import { BrokenStream } from './daemon-stream.js';

interface Surroundings {
  url: string;
  sandboxId: string;
  probe(): Promise<'running' | 'gone' | 'unknown'>;
  /** Asks the service about a sandbox that the gateway does not find. */
  findReason(): Promise<'paused' | 'gone'>;
}

/**
 * Returns the meaning of an RPC's failure. A gateway's 502, a paused sandbox and a broken network all look like `unavailable`;
 * the health route distinguishes them.
 */
export async function explainRpcFailure(
  error: unknown,
  context: Pick<CallContext, 'operation' | 'resource'>,
  surroundings: Surroundings,
): Promise<unknown> {
  if (SvcError.is(error)) return error;
  if (!looksBroken(error)) return isConnectFailure(error) ? errorFromConnect(error, context) : error;
  const { operation } = context;
  const { url, sandboxId, probe, findReason } = surroundings;
  const network = errorFromNetwork(error, { operation, url, service: 'sandbox' });
  // Nothing listens at the gateway itself: asking again would only take time.
  if (networkCode(error) === 'ECONNREFUSED') return network;
  if ((await probe()) !== 'gone') return network;
  return sandboxGone(operation, sandboxId, reasonGiven(error) ?? (await findReason()), error);
}

const goneTexts: Readonly<Record<SandboxGoneReason, string>> = {
  paused: 'is paused: resume() or connect() wakes it.',
  killed: 'was killed.',
  expired:
    'reached the end of its time to live and was killed: raise timeoutMs, or call setTimeout() or refresh() in time.',
  ended: 'ended by itself, most often because it used more memory than it may.',
  gone: 'does not run any more. It was killed, is paused, or reached its time to live: raise timeoutMs, call setTimeout() or refresh() in time, or connect() to wake a paused one.',
};

/** The error for a sandbox that does not run any more. */
export function sandboxGone(
  operation: string,
  sandboxId: string,
  reason: SandboxGoneReason,
  cause?: unknown,
): SandboxGoneError {
  const option = reason === 'expired' || reason === 'gone' ? 'timeoutMs' : undefined;
  const text = `${operation}: the sandbox ${sandboxId} ${goneTexts[reason]}`;
  return new SandboxGoneError(text, { operation, cause, option, reason });
}

/** The words in which a gateway ends the streams of a sandbox that goes away. */
const reasonWords: readonly [RegExp, SandboxGoneReason][] = [
  [/sandbox was paused$/i, 'paused'],
  [/sandbox was killed$/i, 'killed'],
  [/time to live/i, 'expired'],
  [/sandbox ended unexpectedly$/i, 'ended'],
];

function reasonGiven(error: unknown): SandboxGoneReason | undefined {
  if (!isConnectFailure(error)) return undefined;
  return reasonWords.find(([words]) => words.test(error.rawMessage))?.[1];
}

/** Returns true for an error that may mean a broken connection, rather than a refusal of the daemon. */
export function looksBroken(error: unknown): boolean {
  if (error instanceof BrokenStream) return true;
  const code = connectCode(error);
  if (code === 'unavailable' || code === 'canceled' || code === 'aborted') return true;
  // A body that ends early comes as an error of the protocol, at best with the connection's own error as its cause.
  if (code === 'invalid_argument' || code === 'unknown' || code === 'internal' || code === 'data_loss') {
    return (
      isNetworkFailure(error) ||
      /premature|incomplete|missing EndStream|promised|protocol error: missing/i.test(
        (error as Error).message,
      )
    );
  }
  return code === undefined && isNetworkFailure(error);
}
