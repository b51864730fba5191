import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressedRequest, ResumeCredentials, ResumeOutcome, Route } from './contract.js';
import type { Exchange } from './exchanges.js';
import { internalRoute } from './internal-route.js';
import { opensPage, sendLinkRedirect, speaksTls } from './link-redirect.js';
import { locate } from './locate.js';
import type { GatewayParts } from './parts.js';
import type { Refusal } from './refusal.js';
import { isPreflight } from './request-line.js';

export type Target = Extract<AddressedRequest, { kind: 'target' }>;

/** A request whose sandbox is found, and its place among the open ones. */
export interface Admitted {
  route: Route;
  target: Target;
  exchange: Exchange;
}

export type Admit = (
  req: IncomingMessage,
  res: ServerResponse,
  addressed: AddressedRequest,
) => Promise<Admitted | 'on-other-node' | undefined>;

/**
 * Decides everything that is decided before a connection is opened. Undefined: the request was answered, or its client left;
 * `on-other-node`: another node has its sandbox by now.
 */
export function createAdmission({ deps, settings, stats, wallNow, exchanges, refuse }: GatewayParts): Admit {
  const resuming = new Map<string, Promise<ResumeOutcome>>();
  const resume = (sandboxId: string, credentials: ResumeCredentials) => {
    const running = resuming.get(sandboxId);
    if (running) return running;
    stats.autoResumes++;
    const started = deps.resume(sandboxId, credentials).finally(() => resuming.delete(sandboxId));
    resuming.set(sandboxId, started);
    return started;
  };

  return async (req, res, target) => {
    const no = (refusal: Refusal) => refuse(req, res, refusal) as undefined;
    if (target.kind === 'refused') return no({ reason: target.reason });
    const { sandboxId, port } = target;
    const path = target.toDaemon ? internalRoute(target.url) : undefined;
    if (path !== undefined) return no({ reason: 'internal_route', path });
    const left = new AbortController();
    const onLeft = () => left.abort();
    res.once('close', onLeft);
    const located = await locate({
      deps,
      resume,
      sandboxId,
      port,
      daemonPort: settings.daemonPort,
      method: req.method,
      url: target.url,
      headers: req.headers,
      trafficTokenNames: settings.trafficTokenNames,
      preflight: isPreflight(req),
      transitionWaitMs: settings.transitionWaitMs,
      wallNow,
      signal: left.signal,
    });
    res.off('close', onLeft);
    if (left.signal.aborted || res.destroyed) {
      stats.clientAborts++;
      return undefined;
    }
    if (located.kind === 'refused') return no(located.refusal);
    if (located.kind === 'on-other-node') return 'on-other-node';
    const { link } = located;
    if (link !== undefined && opensPage(req)) {
      const tls = speaksTls(req, settings.tls);
      sendLinkRedirect(req, res, { url: target.url, link, tls, nowMs: wallNow() });
      return undefined;
    }
    const connectionLimit = settings.connectionLimitPerSandbox;
    const exchange = exchanges.open(sandboxId, connectionLimit);
    if (!exchange) return no({ reason: 'connection_limit', sandboxId, connectionLimit });
    deps.onAdmitted?.(req.socket);
    return { route: located.route, target, exchange };
  };
}
