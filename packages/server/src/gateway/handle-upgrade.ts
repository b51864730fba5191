import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Admitted } from './admit.js';
import { DialFailure } from './dial.js';
import type { GatewayParts } from './parts.js';
import type { Refusal } from './refusal.js';
import { shownRequest } from './shown-request.js';
import { makeStoppable } from './stoppable.js';
import { forwardUpgrade } from './upgrade.js';

/** Connects an admitted upgrade with its sandbox. */
export async function handleUpgrade(
  parts: GatewayParts,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  res: ServerResponse,
  admitted: Admitted,
): Promise<void> {
  const { settings, stats, exchanges, log, now, connect } = parts;
  const { route, target, exchange } = admitted;
  const { sandboxId, port } = target;
  const refuse = (reason: Refusal['reason']) => parts.refuse(req, res, { reason, sandboxId, port });
  const startedAt = now();
  const dialing = new AbortController();
  stats.openUpgrades++;
  socket.once('close', () => {
    dialing.abort();
    stats.openUpgrades--;
    exchanges.release(exchange);
    log.debug({ sandboxId, port, durationMs: now() - startedAt }, 'upgraded connection closed');
  });
  makeStoppable(parts, exchange, socket, () => {
    parts.refuse(req, res, { reason: 'sandbox_stopped', sandboxId });
    dialing.abort();
  });
  const protocol = req.headers.upgrade ?? '';
  // HTTP/2 without TLS is declined by answering in HTTP/1.1, which a client that offers it expects.
  const asked = /^\s*h2c\s*$/i.test(protocol) ? {} : { upgrade: protocol };
  const { host, url, headers } = shownRequest(req, admitted, settings, { expectContinue: false, ...asked });
  let stream: Duplex;
  try {
    stream = await connect({ route, port, host, signal: dialing.signal });
  } catch (error) {
    if (res.headersSent || socket.destroyed) return;
    if (!(error instanceof DialFailure)) return refuse('upstream_failed');
    return refuse(error.kind === 'ended' ? 'sandbox_not_found' : 'port_closed');
  }
  if (dialing.signal.aborted || socket.destroyed) {
    stream.destroy();
    return;
  }
  const forwarding = forwardUpgrade({
    req,
    socket,
    head,
    res,
    stream,
    url,
    headers,
    refuse,
    onBytes: (count) => {
      stats.responseBytes += count;
    },
    onBroken: () => stats.upstreamAborts++,
  });
  makeStoppable(parts, exchange, socket, forwarding.stop);
}
