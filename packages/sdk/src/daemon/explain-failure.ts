import { SandboxGoneError } from '../core/errors/connection-errors.js';
import { connectCode, errorFromConnect, isConnectFailure } from '../core/errors/from-connect.js';
import { errorFromNetwork, isNetworkFailure, networkCode } from '../core/errors/from-network.js';
import { SvcError } from '../core/errors/svc-error.js';
import type { CallContext } from '../core/pipeline/call-context.js';

interface Surroundings {
  url: string;
  sandboxId: string;
  probe(): Promise<'running' | 'gone' | 'unknown'>;
}

/**
 * What the failure of an RPC means. `unavailable` is what a gateway's 502, a paused sandbox and a broken network all look
 * like; the health route tells them apart.
 */
export async function explainRpcFailure(
  error: unknown,
  context: Pick<CallContext, 'operation' | 'resource'>,
  surroundings: Surroundings,
): Promise<unknown> {
  if (SvcError.is(error)) return error;
  if (!looksBroken(error)) return isConnectFailure(error) ? errorFromConnect(error, context) : error;
  const { operation } = context;
  const { url, sandboxId, probe } = surroundings;
  const network = errorFromNetwork(error, { operation, url, service: 'sandbox' });
  // Nothing listens at the gateway itself: asking again would only take time.
  if (networkCode(error) === 'ECONNREFUSED') return network;
  return (await probe()) === 'gone' ? sandboxGone(operation, sandboxId, error) : network;
}

/** The error for a sandbox that does not run any more. */
export function sandboxGone(operation: string, sandboxId: string, cause?: unknown): SandboxGoneError {
  return new SandboxGoneError(
    `${operation}: the sandbox ${sandboxId} does not run any more. It was killed, is paused, or reached its time to live: ` +
      'raise timeoutMs, call setTimeout() or refresh() in time, or connect() to wake a paused one.',
    { operation, cause, option: 'timeoutMs' },
  );
}

/** Whether an error may mean that the connection broke, rather than that the daemon refused. */
export function looksBroken(error: unknown): boolean {
  const code = connectCode(error);
  if (code === 'unavailable' || code === 'canceled' || code === 'aborted') return true;
  // A body that ends early comes as an error of the protocol, with the connection's own error beneath it at best.
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
