import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import { defined, toSeconds } from '../core/wire-values.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { errorFromAnswer } from '../errors/from-answer.js';
import type { SvcError } from '../errors/svc-error.js';
import type { SandboxTarget } from './sandbox-api.js';
import { fromSandbox } from './wire.js';

/** Options of a fork. */
export interface ForkOptions extends RequestOptions {
  /** Number of new sandboxes, 1 to 100. Default: the service's, 1. */
  count?: number | undefined;
  /**
   * Time to live of each new sandbox, ms, rounded up to whole seconds, at most the team's `limits.maxTimeoutMs`; more is
   * refused. 0 makes forks that end at once. Default: the service's, 15 s.
   */
  timeoutMs?: number | undefined;
}

/** Result of one fork: the new sandbox, or the error. */
export type ForkResult<Handle> = { ok: true; sandbox: Handle } | { ok: false; error: SvcError };

/** Result of the function on one fork. */
export type ForkRun<Value> = { ok: true; value: Value } | { ok: false; error: unknown };

export async function forkSandbox(
  core: ClientCore,
  sandboxID: string,
  options: ForkOptions,
): Promise<ForkResult<SandboxTarget>[]> {
  const { count, timeoutMs } = options;
  const operation = 'sandbox.fork';
  const context = { operation, resource: 'sandbox', options } as const;
  const timeout = timeoutMs === undefined ? undefined : toSeconds(timeoutMs, 'timeoutMs');
  const { data, response } = await core.platform.answer(context, (platform, fetch) =>
    platform.POST('/sandboxes/{sandboxID}/fork', {
      params: { path: { sandboxID } },
      body: defined({ count, timeout }),
      fetch,
    }),
  );
  return data.map(({ sandbox, error }) => {
    if (sandbox) return { ok: true, sandbox: fromSandbox(sandbox) };
    const status = error?.code ?? 500;
    const { headers } = response;
    const failure = {
      status,
      headers,
      body: error,
      service: 'platform',
      operation,
      nowMs: Date.now(),
    } as const;
    return { ok: false, error: errorFromAnswer(failure) };
  });
}

interface Killable {
  kill(options?: RequestOptions): Promise<boolean>;
}

/** Runs a function on each fork, at most `concurrency` at once, and kills each fork when its run is over. */
export async function runOnForks<Handle extends Killable, Value>(
  forks: ForkResult<Handle>[],
  run: (fork: Handle, index: number) => Promise<Value> | Value,
  options: { concurrency?: number | undefined; signal?: AbortSignal | undefined },
): Promise<ForkRun<Value>[]> {
  const { concurrency = Math.max(1, forks.length), signal } = options;
  if (!(concurrency >= 1))
    throw new InvalidRequestError(`concurrency must be at least 1, got ${concurrency}.`);
  const results: ForkRun<Value>[] = new Array(forks.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < forks.length; index = next++) {
      const fork = forks[index] as ForkResult<Handle>;
      results[index] = fork.ok ? await runOnFork(fork.sandbox, index) : fork;
    }
  };
  const runOnFork = async (fork: Handle, index: number): Promise<ForkRun<Value>> => {
    try {
      signal?.throwIfAborted();
      return { ok: true, value: await run(fork, index) };
    } catch (error) {
      return { ok: false, error };
    } finally {
      // A fork that cannot be killed now ends with its time to live; the result of the run matters more.
      await fork.kill().catch(() => false);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, forks.length) }, work));
  return results;
}
