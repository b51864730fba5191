import type { RequestOptions } from '../../core/call-context.js';
import { Deadline, sleep } from '../../core/deadline.js';
import type { DaemonConnection } from '../../daemon/daemon-connection.js';
import { InvalidRequestError, ServerError, StorageFullError } from '../../errors/answer-errors.js';
import { ConnectionError } from '../../errors/connection-errors.js';
import { NotFoundError } from '../../errors/not-found-errors.js';
import { SvcError } from '../../errors/svc-error.js';
import { followProcess, ProcessLost } from '../../process/process-events.js';
import { ProcessInput } from '../../process/process-input.js';
import { sendSignal } from '../../process/signals.js';

/** The program to run. */
export interface TarRun {
  operation: string;
  args: string[];
  /** Fed to its stdin, which is then closed. */
  input?: AsyncIterable<Uint8Array> | undefined;
  options: Omit<RequestOptions, 'maxRetries'> & { user?: string | undefined };
}

/** Longest wait for the end of a program once it takes no more input, and for its death once it is killed, ms. */
const lastWordsMs = 5_000;
const longestMessage = 2_000;

/**
 * Runs `tar` in the sandbox: gives what it prints, feeds it what it reads, each as fast as the other side takes it.
 * Leaving the loop kills it.
 * @throws StorageFullError, ServerError with what tar said, InvalidRequestError where there is no tar, ConnectionError
 * when output was lost while the connection was broken
 */
export async function* runTar(
  connection: DaemonConnection,
  { operation, args, input, options }: TarRun,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { user, signal, requestTimeoutMs } = options;
  const transfer = new Deadline({ signal });
  const context = { operation, resource: 'file', user, options: { requestTimeoutMs } } as const;
  const process = { cmd: 'tar', args, envs: { LC_ALL: 'C' } };
  const updates = followProcess({
    connection,
    context,
    open: { start: { process, stdin: input !== undefined } },
    timeoutMs: 0,
    signal: transfer.signal,
  });
  const close = (): void => transfer.abort(new Error(`${operation}: the client was closed.`));
  connection.core.streams.add(close);
  const decoder = new TextDecoder();
  let stderr = '';
  let pid: number | undefined;
  let ended = false;
  let feeding: Feeding | undefined;
  try {
    for (;;) {
      const { value: update, done } = await transfer.run(() => updates.next());
      if (done) return;
      if (update.type === 'start') {
        pid = update.pid;
        feeding = input && feed(new ProcessInput(connection, pid, 'stdin'), input, transfer, () => ended);
      } else if (update.type === 'stdout') {
        yield update.data;
      } else if (update.type === 'stderr') {
        stderr = (stderr + decoder.decode(update.data, { stream: true })).slice(-longestMessage);
      } else if (update.type === 'reattached' && update.lostBytes > 0) {
        throw broken(operation);
      } else if (update.type === 'end') {
        ended = true;
        // An error that the source of the input threw is the reason, however tar reads half an archive.
        if (feeding?.failure && !SvcError.is(feeding.failure.error)) throw feeding.failure.error;
        if (update.exitCode !== 0) throw tarFailure(operation, update.exitCode, update.error, stderr);
        return;
      }
    }
  } catch (error) {
    if (error instanceof ProcessLost) throw broken(operation, error);
    if (pid === undefined && isMissingTar(error)) throw missingTar(operation, error);
    throw error;
  } finally {
    connection.core.streams.delete(close);
    // Also ends what is still being fed.
    transfer.abort(new Error('The transfer is over.'));
    await feeding?.over;
    if (pid !== undefined && !ended)
      await sendSignal(connection, { pid }, 'SIGKILL', { requestTimeoutMs: lastWordsMs }).catch(() => {});
  }
}

interface Feeding {
  failure: { error: unknown } | undefined;
  /** Settles at its end, a failure included. */
  over: Promise<void>;
}

/** Feeds a program; a failure ends the transfer, unless the program ends first. */
function feed(
  input: ProcessInput,
  source: AsyncIterable<Uint8Array>,
  transfer: Deadline,
  hasEnded: () => boolean,
): Feeding {
  const { signal } = transfer;
  signal.addEventListener('abort', () => input.stop(signal.reason), { once: true });
  const feeding: Feeding = { failure: undefined, over: Promise.resolve() };
  const write = async () => {
    for await (const bytes of source) {
      await input.write(bytes);
      if (input.unread) return;
    }
    await input.finish();
  };
  feeding.over = write().catch(async (error: unknown) => {
    feeding.failure = { error };
    // A program that died stops reading first; its own words say why, if they come.
    await sleep(lastWordsMs, signal).catch(() => {});
    if (!hasEnded()) transfer.abort(error);
  });
  return feeding;
}

function broken(operation: string, cause?: unknown): ConnectionError {
  const text = `${operation}: the connection broke, and a part of the transfer is lost. Start the transfer again.`;
  return new ConnectionError(text, { operation, cause });
}

function tarFailure(operation: string, exitCode: number, error: string | undefined, stderr: string) {
  const said = stderr.trim() || error || `exit status ${exitCode}`;
  if (/no space left|disk quota/i.test(stderr)) {
    return new StorageFullError(`${operation}: the sandbox's disk is full. (tar: ${said})`, { operation });
  }
  return new ServerError(`${operation}: tar failed in the sandbox: ${said}`, { operation });
}

function isMissingTar(error: unknown): error is SvcError {
  return (
    SvcError.is(error) &&
    (NotFoundError.is(error) || InvalidRequestError.is(error)) &&
    /tar.*(not found|no such file)|(not found|no such file).*tar|ENOENT/i.test(error.message)
  );
}

function missingTar(operation: string, cause: SvcError): InvalidRequestError {
  return new InvalidRequestError(
    `${operation}: the sandbox has no tar program, which directories are transferred with. Use a template that has it.`,
    { operation, cause },
  );
}
