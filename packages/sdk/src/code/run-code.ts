import type { RequestOptions } from '../core/call-context.js';
import { Deadline } from '../core/deadline.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { ConnectionError, TimeoutError } from '../errors/connection-errors.js';
import { errorFromNetwork, isNetworkFailure } from '../errors/from-network.js';
import { SvcError } from '../errors/svc-error.js';
import type { CodeContext, CodeError, CodeLanguage, CodeResult, Execution } from './execution.js';
import { callInterpreter, type InterpreterRoute, notAnInterpreter } from './interpreter-calls.js';
import { readLines } from './read-lines.js';
import { type CodeEvent, parseEvent } from './wire.js';

/** Options for running a cell. */
export interface RunCodeOptions extends Omit<RequestOptions, 'maxRetries'> {
  /** Its language, in the context that the sandbox has for each. Default `python`. Not with `context`. */
  language?: CodeLanguage | undefined;
  /** Where it runs, a context or its id. Default: that of the language. */
  context?: CodeContext | string | undefined;
  /** Variables for this cell. */
  envs?: Record<string, string> | undefined;
  /** Longest time from the start of the answer to the end of the cell, ms; then it is interrupted. 0: none. Default 60 000. */
  timeoutMs?: number | undefined;
  /** Most bytes of the answer that are read; more ends the cell. Default 256 MiB. */
  maxOutputBytes?: number | undefined;
  /** Called with each piece of standard output; waited for. */
  onStdout?: ((text: string) => Promise<void> | void) | undefined;
  /** Called with each piece of standard error; waited for. */
  onStderr?: ((text: string) => Promise<void> | void) | undefined;
  /** Called with each result; waited for. */
  onResult?: ((result: CodeResult) => Promise<void> | void) | undefined;
  /** Called with the error of the cell; waited for. */
  onError?: ((error: CodeError) => Promise<void> | void) | undefined;
}

const operation = 'sandbox.runCode';
const defaultLimitMs = 60_000;
const defaultTotal = 256 * 1024 * 1024;
const longestLine = 64 * 1024 * 1024;

/** Runs a cell and gathers what comes of it. */
export async function runCode(
  route: InterpreterRoute,
  code: string,
  options: RunCodeOptions,
): Promise<Execution> {
  const { language, context, envs, timeoutMs = defaultLimitMs, requestTimeoutMs, signal } = options;
  if (language !== undefined && context !== undefined)
    throw new InvalidRequestError(`${operation}: give context or language, not both.`, { operation });
  const deadline = new Deadline({ signal });
  try {
    return await deadline.run(async (stop) => {
      const response = await callInterpreter(route, {
        operation,
        method: 'POST',
        path: '/execute',
        body: {
          code,
          language,
          context_id: typeof context === 'object' ? context.id : context,
          env_vars: envs,
        },
        options: { signal: stop, requestTimeoutMs },
      });
      deadline.restart(timeoutMs, (limitMs) => tooLong(limitMs));
      return await gather(response, options);
    });
  } finally {
    // Streams that are still open are given up: the server then interrupts the cell.
    deadline.abort(new Error('the cell is over'));
  }
}

async function gather(response: Response, options: RunCodeOptions): Promise<Execution> {
  const { maxOutputBytes: totalBytes = defaultTotal } = options;
  const execution: Execution = {
    results: [],
    logs: { stdout: '', stderr: '' },
    error: undefined,
    executionCount: undefined,
    text: undefined,
  };
  if (response.body === null) throw notAnInterpreter(operation, 'its answer is empty');
  const limits = { lineBytes: Math.min(longestLine, totalBytes), totalBytes };
  for await (const line of boundedLines(response.body, limits)) {
    const event = readEvent(line);
    if (event?.type === 'end') {
      if (!event.expected)
        execution.error ??= { name: 'KernelDied', value: 'The kernel ended.', traceback: '' };
      return execution;
    }
    if (event !== undefined) await apply(execution, event, options);
  }
  throw new ConnectionError(
    `${operation}: the answer ended before the cell did. The interpreter was stopped or ran out of memory: run the cell again, or create another sandbox.`,
    { operation },
  );
}

async function apply(
  execution: Execution,
  event: Exclude<CodeEvent, { type: 'end' }>,
  { onStdout, onStderr, onResult, onError }: RunCodeOptions,
): Promise<void> {
  switch (event.type) {
    case 'stdout':
    case 'stderr':
      execution.logs[event.type] += event.text;
      await (event.type === 'stdout' ? onStdout : onStderr)?.(event.text);
      break;
    case 'result':
      execution.results.push(event.result);
      if (event.result.isMainResult) execution.text ??= event.result.text;
      await onResult?.(event.result);
      break;
    case 'error':
      execution.error = event.error;
      await onError?.(event.error);
      break;
    case 'count':
      execution.executionCount = event.count;
  }
}

async function* boundedLines(
  body: ReadableStream<Uint8Array>,
  limits: { lineBytes: number; totalBytes: number },
): AsyncGenerator<string, void, undefined> {
  try {
    yield* readLines(body, limits);
  } catch (error) {
    if (isNetworkFailure(error)) throw errorFromNetwork(error, { operation, url: '', service: 'sandbox' });
    if (!(error instanceof RangeError)) throw error;
    throw new SvcError(
      `${operation}: the cell gave ${error.message}, so it was ended. Print less, write large results to a file, or raise maxOutputBytes.`,
      { operation, code: 'output_too_large', cause: error },
    );
  }
}

function readEvent(line: string): CodeEvent | undefined {
  try {
    return parseEvent(line);
  } catch (cause) {
    throw notAnInterpreter(operation, (cause as Error).message, cause);
  }
}

function tooLong(limitMs: number): TimeoutError {
  return new TimeoutError(
    `${operation}: the cell did not end within ${limitMs} ms and is interrupted; its context stays. Raise timeoutMs, or set it to 0.`,
    { operation, option: 'timeoutMs', limitMs },
  );
}
