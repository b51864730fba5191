import type { IncomingHttpHeaders } from 'node:http';
import { type DaemonDial, type DaemonRequest, exchange, protocolError } from './exchange.js';

export interface DaemonLimits {
  /** Bounds the whole exchange in time; required, because the other side may never end. */
  signal: AbortSignal;
  /** Most bytes of body that are read. */
  maxBytes: number;
}

export interface DaemonReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * One request on a connection of its own, whose answer is read whole. Everything about the answer is bounded, and
 * any failure costs this call only.
 * @throws {DaemonProtocolError} when there is no answer within the limits. An abort rejects with the signal's reason; what
 * `dial` rejects with is passed on.
 */
export async function askDaemon(
  dial: DaemonDial,
  request: DaemonRequest,
  { signal, maxBytes }: DaemonLimits,
): Promise<DaemonReply> {
  const answer = await exchange(dial, request, signal);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) break;
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw protocolError(request, 'the answer broke off', error);
  }
  if (size > maxBytes) throw protocolError(request, `the answer is larger than ${maxBytes} bytes`);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) };
}
