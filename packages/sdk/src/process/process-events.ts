import type { ConnectResponse, DaemonClient, ProcessEvent, StartResponse } from '@svc/daemon';
import { sleep } from '../core/deadline.js';
import type { DaemonCallContext, DaemonConnection } from '../daemon/daemon-connection.js';
import { BrokenStream, silenceLimitMs } from '../daemon/daemon-stream.js';
import { ConnectionError } from '../errors/connection-errors.js';
import { connectCode } from '../errors/from-connect.js';
import { NotFoundError } from '../errors/not-found-errors.js';
import { SvcError } from '../errors/svc-error.js';
import { type ProcessChoice, selectorOf } from './process-selector.js';

/** The request that starts a process, as the generated client takes it. */
export type StartRequestInit = Parameters<DaemonClient['process']['start']>[0];

/** An event of a process, over any number of connections that follow it. */
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
  /** Time limit of the process (start) or of following it (attach), ms; 0: none. */
  timeoutMs: number;
  /** Ends the following. */
  signal: AbortSignal;
}

/** Attempts to attach again, without any event in between, before giving up. */
const mostReattachments = 5;

/** Thrown when the time limit of a process fired. */
export class ProcessTimeUp extends Error {}

/** Thrown when the connection broke, and the process is not there any more to be attached to again. */
export class ProcessLost extends Error {}

/** Past the end of every output: a daemon answers with the offset of what comes next. */
const nowOffset = 2n ** 64n - 1n;

/** Longest wait for the closing frame of a stream after the process's end, ms. */
const endFrameMs = 100;
/** Delay of the time limit here after that of the daemon, ms. */
const timeUpGraceMs = 2_000;

/**
 * Follows a process from its start to its end. When the connection breaks, it attaches again where it left off: the
 * daemon keeps the latest output, and says how much of it is lost.
 */
export async function* followProcess(options: FollowOptions): AsyncGenerator<ProcessUpdate, void, undefined> {
  const { connection, context, timeoutMs, signal } = options;
  const endsAt = timeoutMs > 0 ? performance.now() + timeoutMs : undefined;
  const place = new OutputPlace();
  let pid: number | undefined;
  for (let failures = 0; ; ) {
    const again = pid !== undefined;
    const target = pid === undefined ? firstTarget(options.open) : { attach: { pid }, from: place.next };
    try {
      for await (const event of openStream(options, target, endsAt, again)) {
        if (event.case === 'start') {
          const lostBytes = place.begin(event.value, target);
          pid = event.value.pid;
          yield again ? { type: 'reattached', lostBytes } : { type: 'start', pid, lostBytes };
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
      throw new BrokenStream('the stream ended before the process did');
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof ProcessTimeUp || thrown instanceof ProcessLost) throw thrown;
      const error = await connection.explain(thrown, context, signal);
      if (isTimeUp(thrown) || isTimeUp(error)) throw new ProcessTimeUp('', { cause: thrown });
      if (pid === undefined) throw error;
      if (NotFoundError.is(error))
        throw new ProcessLost(`the process ${pid} ended before it could be attached to again`, {
          cause: error,
        });
      if (!ConnectionError.is(error) || ++failures > mostReattachments) throw error;
      const text = `${context.operation}: the connection broke, attaching again`;
      connection.core.logger.info(text, { pid, attempt: failures });
      if (failures > 1) await sleep(200 * 2 ** failures, signal);
    }
  }
}

/** Returns true when the daemon ended the process because its time was over. */
function isTimeUp(error: unknown): boolean {
  return connectCode(SvcError.is(error) ? error.cause : error) === 'deadline_exceeded';
}

type EventCase = ProcessEvent['event'];

/** The request of one connection. */
type Target = { start: StartRequestInit } | { attach: ProcessChoice; from: bigint };

function firstTarget(open: FollowOptions['open']): Target {
  return 'start' in open ? open : { attach: open.attach, from: open.output === 'all' ? 0n : nowOffset };
}

type StartEvent = Extract<EventCase, { case: 'start' }>['value'];

/** The place up to which the output of a process has been received, over all connections, and the process itself. */
class OutputPlace {
  /** Bytes received or lost; undefined before the first connection, and where the daemon does not count. */
  #expected: bigint | undefined;
  #started: StartEvent['startedAt'];

  /** Where to continue. A daemon that does not count continues with new output only. */
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
  again: boolean,
): AsyncGenerator<EventCase, void, undefined> {
  // The number of attachments is decided above, over all connections.
  const maxRetries = again ? 0 : context.options?.maxRetries;
  const call = { ...context, options: { ...context.options, maxRetries, signal } };
  const stream = await connection.open<StartResponse | ConnectResponse>(
    call,
    ({ process }, { headers, signal }) => {
      const left = endsAt === undefined ? undefined : Math.ceil(endsAt - performance.now());
      if (left !== undefined && left <= 0) throw new ProcessTimeUp('its time limit is over');
      // The daemon keeps the time, so that it surely kills the process; the library's own timer would only cut the stream.
      const limit = left === undefined ? {} : { 'Connect-Timeout-Ms': String(left) };
      const rpc = { signal, headers: { ...headers, ...limit } };
      if ('start' in target) return process.start(target.start, rpc);
      return process.connect({ process: { selector: selectorOf(target.attach) }, from: target.from }, rpc);
    },
  );
  const onSilence = (limitMs: number) =>
    endsAt !== undefined && performance.now() >= endsAt
      ? new ProcessTimeUp('its time limit is over')
      : new BrokenStream(`nothing came for ${limitMs} ms`);
  try {
    for (
      let message: typeof stream.first | undefined = stream.first;
      message;
      message = await stream.next(patience(endsAt), onSilence)
    ) {
      const event: EventCase | undefined = message.event?.event;
      if (event?.case === 'end') await stream.drain(endFrameMs);
      if (event) yield event;
    }
  } finally {
    stream.release();
  }
}

/** Longest wait for the next event, ms: until silence is suspicious, or until the daemon should have reported the end of the time limit. */
function patience(endsAt: number | undefined): number {
  if (endsAt === undefined) return silenceLimitMs;
  return Math.min(silenceLimitMs, Math.max(1, endsAt - performance.now()) + timeUpGraceMs);
}
