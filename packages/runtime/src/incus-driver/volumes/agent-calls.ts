import type { Duplex } from 'node:stream';
import type { RemoteCalls } from '../../remote/remote-calls.js';
import { callsOver } from '../../volume-process/calls-over.js';

/** Without a call for so long an agent is removed, ms. The next call makes another one. */
const IDLE_MS = 60_000;
/** An agent that does not answer for so long is given up, ms. */
const PING_MS = 20_000;
const PONG_MS = 30_000;
/** Longest that one call may take, ms. */
const CALL_MS = 3_600_000;
/** Largest answer: a long listing. */
const LARGEST_ANSWER_BYTES = 64 * 2 ** 20;

/** Calls of the program of an agent, over its standard input and output. The stream closes when nobody calls for a while. */
export function callsOfAgent(stream: Duplex): RemoteCalls {
  return callsOver(
    stream,
    { idleConnectionTimeoutMs: IDLE_MS, pingIntervalMs: PING_MS, pingTimeoutMs: PONG_MS },
    { readMaxBytes: LARGEST_ANSWER_BYTES, defaultTimeoutMs: CALL_MS },
  );
}
