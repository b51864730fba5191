import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { isConnectStream, unavailableFrame } from '@svc/daemon/dial';
import { DialFailure } from './dial.js';
import type { PortAgent } from './port-agent.js';
import { pump, trailerPairs } from './pump.js';
import type { Refusal } from './refusal.js';
import { type ResponseRelay, relayResponse } from './relay-response.js';
import { hasBody } from './request-line.js';
import { discardBody } from './respond.js';

export interface ForwardOptions {
  req: IncomingMessage;
  res: ServerResponse;
  agent: PortAgent;
  url: string;
  headers: string[];
  /** The client waits for `100 Continue`; the sandbox's is passed on. */
  expectContinue: boolean;
  /** Answers by the gateway itself. Called at most once, and only while nothing was sent. */
  refuse: (reason: Refusal['reason']) => void;
  /** A kept-alive connection is used. */
  onReused: () => void;
  /** The head of the answer has come. */
  onHead: () => void;
  onRequestBytes: (count: number) => void;
  onResponseBytes: (count: number) => void;
  onClientLeft: () => void;
  onUpstreamBroken: () => void;
}

export interface Forwarding {
  /** Ends the exchange because the sandbox goes away, or does not answer. */
  stop(message: string, reason: 'sandbox_stopped' | 'daemon_silent'): void;
}

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Passes early hints on; those that are no list of links are left out. */
function passHints(res: ServerResponse, link: string | string[]): void {
  try {
    res.writeEarlyHints({ link });
  } catch {
    // Node checks the text, which the sandbox wrote, and throws.
  }
}

/** Sends a request into a sandbox and the answer back, both as streams; an end or a break of one side reaches the other. */
export function forward(options: ForwardOptions): Forwarding {
  const { req, res, agent, refuse } = options;
  const withBody = hasBody(req);
  let upstream: ClientRequest;
  let relay: ResponseRelay | undefined;
  let over = false;

  const fail = (reason: Refusal['reason']) => {
    if (over || relay) return;
    over = true;
    refuse(reason);
  };

  const send = (retriesLeft: number) => {
    const attempt = httpRequest({
      agent,
      method: req.method ?? 'GET',
      path: options.url,
      headers: options.headers,
      setHost: false,
      maxHeaderSize: 64 * 1024,
    });
    upstream = attempt;
    let failed = false;
    const onFailure = (error?: Error) => {
      if (failed || over || relay) return;
      failed = true;
      if (retriesLeft > 0 && attempt.reusedSocket && !withBody && idempotent.has(req.method ?? '')) {
        // The service closed an idle connection just as it was taken. Such connections come in batches: drop them all.
        agent.destroyIdle();
        send(retriesLeft - 1);
        return;
      }
      if (error instanceof DialFailure) fail(error.kind === 'ended' ? 'sandbox_not_found' : 'port_closed');
      else fail('upstream_failed');
    };
    attempt.once('socket', () => {
      if (attempt.reusedSocket) options.onReused();
    });
    attempt.on('error', onFailure);
    attempt.once('close', () => onFailure());
    attempt.on('continue', () => {
      if (options.expectContinue && !over && !relay) res.writeContinue();
    });
    attempt.on('information', ({ statusCode, headers }) => {
      if (statusCode === 103 && headers.link && !over && !relay) passHints(res, headers.link);
    });
    attempt.once('response', (up) => {
      options.onHead();
      if (over || res.destroyed) {
        attempt.destroy();
        return;
      }
      try {
        relay = relayResponse({
          up,
          res,
          onBytes: options.onResponseBytes,
          onBroken: options.onUpstreamBroken,
        });
      } catch {
        attempt.destroy();
        fail('upstream_failed');
      }
    });
    if (!withBody) attempt.end();
  };

  const sendBody = () => {
    // A late body must not delay the head: the service may want to answer it first.
    setImmediate(() => {
      if (!upstream.destroyed) upstream.flushHeaders();
    });
    pump(req, upstream, (chunk) => options.onRequestBytes(chunk.length));
    req.once('end', () => {
      if (upstream.destroyed) return;
      if (req.rawTrailers.length > 0) upstream.addTrailers(trailerPairs(req.rawTrailers));
      upstream.end();
    });
    // The service may have answered without reading the body to its end; the rest is thrown away.
    upstream.once('close', () => {
      if (!req.complete) discardBody(req);
    });
    req.once('error', () => upstream.destroy());
  };

  res.once('close', () => {
    if (!res.writableFinished) {
      over = true;
      options.onClientLeft();
      upstream.destroy();
      return;
    }
    // Answered early: the rest of the body still goes to its reader.
    req.once('close', () => {
      if (!req.complete) upstream.destroy();
    });
  });

  send(1);
  if (withBody) sendBody();

  return {
    stop(message, reason) {
      if (relay) relay.breakOff(message);
      else if (!over && isConnectStream(req.headers['content-type'])) {
        over = true;
        const type = req.headers['content-type'] ?? '';
        res.writeHead(200, { 'Content-Type': type, 'Access-Control-Allow-Origin': '*' });
        res.end(unavailableFrame(message));
      } else fail(reason);
      over = true;
      upstream.destroy();
    },
  };
}
