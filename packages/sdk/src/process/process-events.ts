import type { DaemonClient, ProcessEvent } from '@svc/daemon';
import { Deadline, settlesWithin, sleep } from '../core/deadline.js';
import { ConnectionError } from '../core/errors/connection-errors.js';
import { connectCode } from '../core/errors/from-connect.js';
import { errorFromNetwork } from '../core/errors/from-network.js';
import { NotFoundError } from '../core/errors/not-found-errors.js';
import { requestTimeout } from '../core/pipeline/pipeline.js';
import type { DaemonCallContext, DaemonConnection } from '../daemon/daemon-connection.js';
import { looksBroken } from '../daemon/explain-failure.js';

/** Chooses a process. */
export type ProcessChoice = { pid: number } | { tag: string };

/** The request that starts a process, as the generated client takes it. */
export type StartRequestInit = Parameters<DaemonClient['process']['start']>[0];

/** What happens to a process, over however many connections it is followed. */
export type ProcessUpdate =
  | { type: 'start'; pid: number }
  | { type: 'stdout' | 'stderr' | 'pty'; data: Uint8Array }
  /** The connection broke and was made again; what was written in between is lost. */
  | { type: 'reattached' }
  | { type: 'end'; exitCode: number; error: string | undefined };

export interface FollowOptions {
  connection: DaemonConnection;
  context: DaemonCallContext;
  /** Start a program, or attach to one. */
  open: { start: StartRequestInit } | { attach: ProcessChoice };
  /** Longest life of the process (start) or of following it (attach), ms; 0: none. */
  timeoutMs: number;
  /** Ends the following. */
  signal: AbortSignal;
}

/** Seconds of silence after which the daemon is asked to send a sign of life. */
export const keepaliveSeconds = 50;
/** Silence after which a stream counts as broken, ms: two signs of life and a margin. */
export const silenceLimitMs = 2 * keepaliveSeconds * 1000 + 20_000;
/** Attempts to attach again, without any event in between, before giving up. */
const mostReattachments = 5;

/** Thrown when the time limit of a process fired. */
export class ProcessTimeUp extends Error {}

class Silence extends Error {}

/** Longest wait for the closing frame of a stream after the process's end, ms. */
const endFrameMs = 100;
/** How much later than the daemon the time limit of a process fires here, ms. */
const timeUpGraceMs = 2_000;

const isPast = (endsAt: number | undefined) => endsAt !== undefined && performance.now() >= endsAt;

/** How long to wait for the next event, ms: until silence is suspicious, or until the daemon should have said that time is up. */
function patience(endsAt: number | undefined): number {
  if (endsAt === undefined) return silenceLimitMs;
  return Math.min(silenceLimitMs, Math.max(1, endsAt - performance.now()) + timeUpGraceMs);
}

/** Follows a process from its start to its end. Attaches again when the connection breaks and the process still runs. */
export async function* followProcess(options: FollowOptions): AsyncGenerator<ProcessUpdate, void, undefined> {
  const { connection, context, timeoutMs, signal } = options;
  const endsAt = timeoutMs > 0 ? performance.now() + timeoutMs : undefined;
  let pid: number | undefined;
  let failures = 0;
  for (;;) {
    let reason: unknown = new Error('the stream ended before the process did');
    try {
      const again = pid === undefined ? undefined : { attach: { pid } };
      for await (const event of openStream(options, again, endsAt)) {
        if (event.case === 'start') {
          const { pid: started } = event.value;
          if (pid === undefined) yield { type: 'start', pid: started };
          else yield { type: 'reattached' };
          pid = started;
        } else if (event.case === 'data') {
          const { output } = event.value;
          if (output.case !== undefined) yield { type: output.case, data: output.value };
        } else if (event.case === 'end') {
          const { exitCode, error } = event.value;
          yield { type: 'end', exitCode, error };
          return;
        }
        failures = 0;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProcessTimeUp) throw error;
      if (connectCode(error) === 'deadline_exceeded') throw new ProcessTimeUp('', { cause: error });
      if (!(error instanceof Silence) && !looksBroken(error)) throw await explainEnd(error, options, pid);
      reason = error;
    }
    // Starting again could run the program twice. Only a process that is known is looked for.
    if (pid === undefined || ++failures > mostReattachments)
      throw await connection.explain(asNetwork(reason), context, signal);
    const health = await connection.probe({ signal });
    if (health === 'gone') throw await connection.explain(asNetwork(reason), context, signal);
    connection.core.logger.info(`${context.operation}: the connection broke, attaching again`, {
      pid,
      attempt: failures,
    });
    if (health === 'unknown' || failures > 1) await sleep(200 * 2 ** failures, signal);
  }
}

type EventCase = ProcessEvent['event'];

/** One connection: its events, with the limits on its first event and on silence. */
async function* openStream(
  { connection, context, open, signal }: FollowOptions,
  again: { attach: ProcessChoice } | undefined,
  endsAt: number | undefined,
): AsyncGenerator<EventCase, void, undefined> {
  const { operation, options, user } = context;
  let opened = false;
  const deadline = new Deadline({
    signal,
    timeoutMs: options?.requestTimeoutMs ?? connection.core.config.requestTimeoutMs,
    onTimeout: (limitMs) => {
      if (!opened) return requestTimeout(operation, limitMs);
      return isPast(endsAt) ? new ProcessTimeUp() : new Silence(`nothing came for ${limitMs} ms`);
    },
  });
  try {
    const client = await connection.client(user);
    const left = endsAt === undefined ? undefined : Math.ceil(endsAt - performance.now());
    if (left !== undefined && left <= 0) throw new ProcessTimeUp();
    // The daemon keeps the time, so that it surely kills the process; the library's own timer would only cut the stream.
    const timeout = left === undefined ? {} : { 'Connect-Timeout-Ms': String(left) };
    const headers = { 'Keepalive-Ping-Interval': String(keepaliveSeconds), ...timeout };
    const call = { signal: deadline.signal, headers };
    const target = again ?? open;
    const stream =
      'start' in target
        ? client.process.start(target.start, call)
        : client.process.connect({ process: { selector: selectorOf(target.attach) } }, call);
    const messages = stream[Symbol.asyncIterator]();
    for (;;) {
      const { done, value: message } = await messages.next();
      if (done) return;
      opened = true;
      // Read to its end, the connection can serve the next call.
      if (message.event?.event.case === 'end') await settlesWithin(messages.next(), endFrameMs);
      deadline.restart(0);
      if (message.event) yield message.event.event;
      // Only while the daemon is waited for: the reader may take its time over an event.
      deadline.restart(patience(endsAt));
    }
  } catch (error) {
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw error;
  } finally {
    deadline.release();
  }
}

/** A choice of process as the generated messages have it. */
export function selectorOf(choice: ProcessChoice) {
  return 'pid' in choice
    ? { case: 'pid' as const, value: choice.pid }
    : { case: 'tag' as const, value: choice.tag };
}

async function explainEnd(
  error: unknown,
  { connection, context, signal }: FollowOptions,
  pid?: number,
): Promise<unknown> {
  const explained = await connection.explain(error, context, signal);
  if (pid === undefined || !NotFoundError.is(explained)) return explained;
  return new ConnectionError(
    `${context.operation}: the connection broke, and the process ${pid} ended before it could be attached to again. ` +
      'Its exit status and the rest of its output are lost.',
    { operation: context.operation, cause: error, retryable: false },
  );
}

function asNetwork(reason: unknown): unknown {
  if (looksBroken(reason)) return reason;
  return errorFromNetwork(reason, { operation: 'process', url: '', service: 'sandbox' });
}
