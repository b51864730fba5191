import type { DaemonClient, ProcessEvent } from '@svc/daemon';
import { Deadline, settlesWithin, sleep } from '../core/deadline.js';
import { connectCode } from '../core/errors/from-connect.js';
import { errorFromNetwork } from '../core/errors/from-network.js';
import { NotFoundError } from '../core/errors/not-found-errors.js';
import { requestTimeout } from '../core/pipeline/pipeline.js';
import type { DaemonCallContext, DaemonConnection } from '../daemon/daemon-connection.js';
import { looksBroken } from '../daemon/explain-failure.js';
import { RpcRun } from '../daemon/rpc-run.js';

/** Chooses a process. */
export type ProcessChoice = { pid: number } | { tag: string };

/** The request that starts a process, as the generated client takes it. */
export type StartRequestInit = Parameters<DaemonClient['process']['start']>[0];

/** What happens to a process, over however many connections it is followed. */
export type ProcessUpdate =
  /** `lostBytes`: output that was asked for and is not kept any more. */
  | { type: 'start'; pid: number; lostBytes: number }
  | { type: 'stdout' | 'stderr' | 'pty'; data: Uint8Array }
  /** The connection broke and was made again. `lostBytes` of the output are missing at this place, most often 0. */
  | { type: 'reattached'; lostBytes: number }
  | { type: 'end'; exitCode: number; error: string | undefined };

export interface FollowOptions {
  connection: DaemonConnection;
  context: DaemonCallContext;
  /** Start a program, or attach to one: to all of its output that is kept, or to what it writes from now on. */
  open: { start: StartRequestInit } | { attach: ProcessChoice; output: 'all' | 'new' };
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

/** Thrown when the connection broke, and the process is not there any more to be attached to again. */
export class ProcessLost extends Error {}

class Silence extends Error {}

/** Past the end of every output: a daemon answers with the offset of what comes next. */
const nowOffset = 2n ** 64n - 1n;

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

/**
 * Follows a process from its start to its end. When the connection breaks, it attaches again where it left off: the
 * daemon keeps the latest output, and tells when what is asked for is gone.
 */
export async function* followProcess(options: FollowOptions): AsyncGenerator<ProcessUpdate, void, undefined> {
  const { connection, context, timeoutMs, signal } = options;
  const endsAt = timeoutMs > 0 ? performance.now() + timeoutMs : undefined;
  const place = new OutputPlace();
  const run = new RpcRun(connection.core, context);
  let pid: number | undefined;
  let failures = 0;
  for (;;) {
    if (pid === undefined) run.begin();
    let reason: unknown = new Error('the stream ended before the process did');
    try {
      const target = pid === undefined ? firstTarget(options.open) : { attach: { pid }, from: place.next };
      for await (const event of openStream(options, target, endsAt)) {
        if (event.case === 'start') {
          const lostBytes = place.begin(event.value, target);
          const again = pid !== undefined;
          pid = event.value.pid;
          if (!again) run.end();
          if (again) yield { type: 'reattached', lostBytes };
          else yield { type: 'start', pid, lostBytes };
        } else if (event.case === 'data') {
          const { output } = event.value;
          if (output.case === undefined) continue;
          place.pass(output.value);
          yield { type: output.case, data: output.value };
        } else if (event.case === 'end') {
          const { exitCode, error } = event.value;
          yield { type: 'end', exitCode, error };
          return;
        }
        failures = 0;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (pid === undefined && !mayRetry(error)) throw run.fail(await failureOf(error, options));
      if (error instanceof ProcessTimeUp || error instanceof ProcessLost) throw error;
      if (connectCode(error) === 'deadline_exceeded') throw new ProcessTimeUp('', { cause: error });
      if (!(error instanceof Silence) && !looksBroken(error)) throw await explainEnd(error, options, pid);
      reason = error;
    }
    if (pid === undefined) {
      // Starting again could run the program twice, unless the request never left.
      const error = await connection.explain(asNetwork(reason), context, signal);
      const delayMs = run.retryDelay(error);
      if (delayMs === undefined) throw run.fail(error);
      await sleep(delayMs, signal);
      continue;
    }
    if (++failures > mostReattachments) throw await connection.explain(asNetwork(reason), context, signal);
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

/** What one connection asks for. */
type Target = { start: StartRequestInit } | { attach: ProcessChoice; from: bigint };

function firstTarget(open: FollowOptions['open']): Target {
  return 'start' in open ? open : { attach: open.attach, from: open.output === 'all' ? 0n : nowOffset };
}

type StartEvent = Extract<EventCase, { case: 'start' }>['value'];

/** How far the output of a process has been received, over all connections, and which process it is. */
class OutputPlace {
  /** Bytes received or lost; undefined before the first connection, and where the daemon does not count. */
  #expected: bigint | undefined;
  #started: StartEvent['startedAt'];

  /** Where to go on. A daemon that does not count goes on with what comes next, whatever it is asked for. */
  get next(): bigint {
    return this.#expected ?? nowOffset;
  }

  /** Takes in the start of a connection. Gives the bytes that are missing before what follows: Infinity for unknown. */
  begin(start: StartEvent, target: Target): number {
    const { startedAt, offset } = start;
    if (this.#started && startedAt && !sameTime(this.#started, startedAt)) {
      throw new ProcessLost(`the process ${start.pid} is another one than before`);
    }
    this.#started ??= startedAt;
    const expected = this.#expected ?? ('from' in target && target.from !== nowOffset ? target.from : offset);
    this.#expected = 'start' in target ? 0n : offset;
    if ('start' in target) return 0;
    // Behind what was received: the state of the sandbox is an older one, and what follows is not what comes next.
    if (expected === undefined || offset === undefined || offset < expected) return Infinity;
    return Number(offset - expected);
  }

  pass(bytes: Uint8Array): void {
    if (this.#expected !== undefined) this.#expected += BigInt(bytes.byteLength);
  }
}

function sameTime(one: NonNullable<StartEvent['startedAt']>, other: typeof one): boolean {
  return one.seconds === other.seconds && one.nanos === other.nanos;
}

/** One connection: its events, with the limits on its first event and on silence. */
async function* openStream(
  { connection, context, signal }: FollowOptions,
  target: Target,
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
    const stream =
      'start' in target
        ? client.process.start(target.start, call)
        : client.process.connect(
            { process: { selector: selectorOf(target.attach) }, from: target.from },
            call,
          );
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

/** Whether a failure before the first event says that the connection broke, rather than that the daemon refused. */
function mayRetry(error: unknown): boolean {
  return error instanceof Silence || looksBroken(error);
}

/** What a stream that never began failed with. */
async function failureOf(error: unknown, { connection, context, signal }: FollowOptions): Promise<unknown> {
  if (error instanceof ProcessTimeUp) return error;
  if (connectCode(error) === 'deadline_exceeded') return new ProcessTimeUp('', { cause: error });
  return connection.explain(error, context, signal);
}

async function explainEnd(
  error: unknown,
  { connection, context, signal }: FollowOptions,
  pid?: number,
): Promise<unknown> {
  const explained = await connection.explain(error, context, signal);
  if (pid === undefined || !NotFoundError.is(explained)) return explained;
  return new ProcessLost(`the process ${pid} ended before it could be attached to again`, { cause: error });
}

function asNetwork(reason: unknown): unknown {
  if (looksBroken(reason)) return reason;
  return errorFromNetwork(reason, { operation: 'process', url: '', service: 'sandbox' });
}
