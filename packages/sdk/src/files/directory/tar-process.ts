import type { DaemonClient } from '@svc/daemon';
import { Deadline, raceAbort, sleep } from '../../core/deadline.js';
import { InvalidRequestError, ServerError, StorageFullError } from '../../core/errors/answer-errors.js';
import { ConnectionError } from '../../core/errors/connection-errors.js';
import type { RequestOptions } from '../../core/pipeline/call-context.js';
import { requestTimeout } from '../../core/pipeline/pipeline.js';
import type { DaemonConnection } from '../../daemon/daemon-connection.js';

/** What to run. */
export interface TarRun {
  operation: string;
  args: string[];
  /** Fed to its stdin, which is then closed. */
  input?: AsyncIterable<Uint8Array> | undefined;
  options: Omit<RequestOptions, 'maxRetries'> & { user?: string | undefined };
}

const keepaliveSeconds = 50;
/** Silence that means that the connection is dead, ms. */
const silenceLimitMs = (2 * keepaliveSeconds + 10) * 1000;
/** How long the end of a program is waited for once it takes no more input, ms. */
const lastWordsMs = 5_000;
const longestMessage = 2_000;

/**
 * Runs `tar` in the sandbox: gives what it prints, feeds it what it reads, each as fast as the other side takes it.
 * Leaving the loop kills it.
 * @throws StorageFullError, ServerError with what tar said, InvalidRequestError where there is no tar
 */
export async function* runTar(
  connection: DaemonConnection,
  run: TarRun,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { operation, args, input, options } = run;
  const { user, signal } = options;
  const context = { operation, resource: 'file', user } as const;
  let started = false;
  const deadline = new Deadline({
    signal,
    timeoutMs: options.requestTimeoutMs ?? connection.core.config.requestTimeoutMs,
    onTimeout: (limitMs) =>
      started
        ? new ConnectionError(
            `${operation}: no sign of life for ${limitMs / 1000} s. Start the transfer again.`,
            { operation },
          )
        : requestTimeout(operation, limitMs),
  });
  const end = (): void => deadline.abort(new Error(`${operation}: the client was closed.`));
  connection.core.streams.add(end);
  let pid: number | undefined;
  let client: DaemonClient | undefined;
  let ended = false;
  let stderr = '';
  let feeding: Promise<void> | undefined;
  try {
    client = await deadline.run(() => connection.client(user));
    const request = { process: { cmd: 'tar', args, envs: { LC_ALL: 'C' } }, stdin: input !== undefined };
    const headers = { 'Keepalive-Ping-Interval': String(keepaliveSeconds) };
    const events = client.process
      .start(request, { signal: deadline.signal, headers })
      [Symbol.asyncIterator]();
    const decoder = new TextDecoder();
    let feedFailure: unknown;
    for (;;) {
      const { value, done } = await deadline.run(() => events.next());
      if (done)
        throw new ConnectionError(`${operation}: the connection ended before tar did.`, { operation });
      const event = value.event?.event;
      if (event?.case === 'start') {
        pid = event.value.pid;
        started = true;
        deadline.restart(silenceLimitMs);
        if (input) {
          feeding = feed(client, pid, input, deadline.signal).catch(async (error) => {
            feedFailure = error;
            // A program that died stops reading first; its own words say why, if they come.
            await sleep(lastWordsMs, deadline.signal).catch(() => {});
            if (!ended) deadline.abort(error);
          });
        }
      } else if (event?.case === 'data' && event.value.output.case === 'stderr') {
        stderr = (stderr + decoder.decode(event.value.output.value, { stream: true })).slice(-longestMessage);
      } else if (event?.case === 'data' && event.value.output.case === 'stdout') {
        // While nobody takes the bytes, silence means nothing.
        deadline.restart(0);
        yield event.value.output.value;
        deadline.restart(silenceLimitMs);
      } else if (event?.case === 'end') {
        ended = true;
        const { exitCode, error } = event.value;
        // What the source of the input threw is the reason, whatever tar made of half an archive.
        if (feedFailure !== undefined && !isRpcFailure(feedFailure)) throw feedFailure;
        if (exitCode !== 0) throw tarFailure(operation, exitCode, error, stderr);
        return;
      } else {
        deadline.restart(silenceLimitMs);
      }
    }
  } catch (thrown) {
    if (deadline.signal.aborted) {
      const { reason } = deadline.signal;
      throw isRpcFailure(reason) ? await connection.explain(reason, context) : reason;
    }
    if (!started && isMissingTar(thrown)) {
      throw new InvalidRequestError(
        `${operation}: the sandbox has no tar program, which directories are transferred with. Use a template that has it.`,
        { operation, cause: thrown },
      );
    }
    throw isRpcFailure(thrown) ? await connection.explain(thrown, context) : thrown;
  } finally {
    connection.core.streams.delete(end);
    // Also ends what is still being fed.
    deadline.abort(new Error('The transfer is over.'));
    await feeding;
    if (pid !== undefined && !ended) await kill(client as DaemonClient, pid);
  }
}

async function feed(
  client: DaemonClient,
  pid: number,
  input: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const process = { selector: { case: 'pid', value: pid } } as const;
  async function* messages() {
    yield { event: { case: 'start', value: { process } } } as const;
    for await (const stdin of input) {
      yield {
        event: {
          case: 'data',
          value: { input: { input: { case: 'stdin', value: stdin as Uint8Array<ArrayBuffer> } } },
        },
      } as const;
    }
  }
  await raceAbort(client.process.streamInput(messages(), { signal }), signal);
  await raceAbort(client.process.closeStdin({ process }, { signal }), signal);
}

async function kill(client: DaemonClient, pid: number): Promise<void> {
  const process = { selector: { case: 'pid', value: pid } } as const;
  const request = { process, signal: 9 };
  const deadline = new Deadline({ timeoutMs: lastWordsMs });
  await deadline.run((signal) => client.process.sendSignal(request, { signal })).catch(() => {});
  deadline.release();
}

function tarFailure(operation: string, exitCode: number, error: string | undefined, stderr: string) {
  const said = stderr.trim() || error || `exit status ${exitCode}`;
  if (/no space left|disk quota/i.test(stderr)) {
    return new StorageFullError(`${operation}: the sandbox's disk is full. (tar: ${said})`, { operation });
  }
  return new ServerError(`${operation}: tar failed in the sandbox: ${said}`, { operation });
}

function isRpcFailure(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConnectError';
}

function isMissingTar(error: unknown): boolean {
  return (
    isRpcFailure(error) &&
    /tar.*(not found|no such file)|(not found|no such file).*tar|ENOENT/i.test((error as Error).message)
  );
}
