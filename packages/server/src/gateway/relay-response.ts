import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EnvelopeTracker, isConnectStream, unavailableFrame } from '@svc/daemon/dial';
import { responseHeaders } from './forwarded-headers.js';
import { pump, trailerPairs } from './pump.js';

export interface ResponseRelay {
  /** Ends the response early: with an `unavailable` frame where a Connect stream allows one, else by breaking it off. */
  breakOff(message: string): void;
}

/** Breaks the client's connection in a way that it cannot take for the end of the body. */
function abort(res: ServerResponse, up: IncomingMessage): void {
  const socket = res.socket as Partial<Socket> | null;
  const delimitedByClose = !res.chunkedEncoding && up.headers['content-length'] === undefined;
  if (delimitedByClose && typeof socket?.resetAndDestroy === 'function') socket.resetAndDestroy();
  res.destroy();
}

/**
 * Passes a sandbox's response on as it comes. For any end of the sandbox's side, the client's response is ended or
 * destroyed: `end`, `error` and `close` of the source all lead to one of the two, once.
 * @throws when the head cannot be written as HTTP; nothing was sent then.
 */
export function relayResponse(options: {
  up: IncomingMessage;
  res: ServerResponse;
  onBytes: (count: number) => void;
  /** The sandbox's side broke before the end of the body. */
  onBroken: () => void;
}): ResponseRelay {
  const { up, res, onBytes, onBroken } = options;
  const framed = isConnectStream(up.headers['content-type']) && up.headers['content-length'] === undefined;
  const tracker = framed ? new EnvelopeTracker() : undefined;
  let over = false;
  let started = false;

  res.sendDate = false;
  res.writeHead(up.statusCode ?? 502, up.statusMessage ?? '', responseHeaders(up));

  const onChunk = (chunk: Buffer) => {
    started = true;
    tracker?.push(chunk);
    onBytes(chunk.length);
  };
  const finish = () => {
    if (over) return;
    over = true;
    try {
      if (up.rawTrailers.length > 0 && res.chunkedEncoding) res.addTrailers(trailerPairs(up.rawTrailers));
      res.end();
    } catch {
      // Trailers that cannot be written as HTTP.
      abort(res, up);
    }
  };
  const breakOff = (message: string) => {
    if (over) return;
    over = true;
    up.removeAllListeners('data');
    for (let chunk = up.read() as Buffer | null; chunk !== null; chunk = up.read() as Buffer | null) {
      onChunk(chunk);
      res.write(chunk);
    }
    if (tracker?.ended) res.end();
    else if (tracker?.atBoundary) res.end(unavailableFrame(message));
    else abort(res, up);
  };
  const broken = () => {
    if (over) return;
    onBroken();
    breakOff('The connection to the sandbox broke');
  };

  up.once('end', finish);
  up.once('error', broken);
  up.once('close', broken);
  pump(up, res, onChunk);
  // The head goes out in this turn of the loop, together with the first bytes of the body when they are here already.
  setImmediate(() => {
    if (!started && !res.writableEnded && !res.destroyed) res.flushHeaders();
  });
  return { breakOff };
}
