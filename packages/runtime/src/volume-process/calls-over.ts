import type { Duplex } from 'node:stream';
import {
  createConnectTransport,
  Http2SessionManager,
  type Http2SessionOptions,
} from '@connectrpc/connect-node';
import { RemoteCalls } from '../remote/remote-calls.js';
import { MOST_COUNTED_MB, WINDOW_BYTES } from './window.js';

/** Nobody looks it up: the stream is there. */
const PLACE = 'http://volumes';

/**
 * Calls of the program that works on files of volumes, over a stream to it.
 * @param session when the connection counts as idle or dead
 * @param limits of answers, bytes, and of calls, ms
 */
export function callsOver(
  stream: Duplex,
  session: Http2SessionOptions,
  limits: { readMaxBytes?: number; defaultTimeoutMs?: number } = {},
): RemoteCalls {
  const sessions = new Http2SessionManager(PLACE, session, {
    createConnection: () => stream,
    settings: { initialWindowSize: WINDOW_BYTES },
    maxSessionMemory: MOST_COUNTED_MB,
  });
  const transport = createConnectTransport({
    baseUrl: PLACE,
    httpVersion: '2',
    sessionManager: sessions,
    acceptCompression: [],
    ...limits,
  });
  return new RemoteCalls(transport, () => sessions.abort());
}
