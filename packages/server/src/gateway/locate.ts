import type { IncomingHttpHeaders } from 'node:http';
import { anyOf } from '#support/any-of';
import type { GatewayDeps, ResumeCredentials, ResumeOutcome, Route } from './contract.js';
import { pause, waitUntilSettled } from './dial.js';
import type { PreviewLink } from './preview-link.js';
import { firstHeader, judgePort } from './private-ports.js';
import type { Refusal } from './refusal.js';
import { sameSecret } from './secrets.js';

export interface LocateOptions {
  deps: Pick<GatewayDeps, 'otherNodes' | 'findRoute' | 'settled'>;
  /** Wakes a sandbox; joined by everyone who asks meanwhile. */
  resume: (sandboxId: string, credentials: ResumeCredentials) => Promise<ResumeOutcome>;
  sandboxId: string;
  port: number;
  daemonPort: number;
  method: string | undefined;
  /** Path with query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** Lower-case names of the header that opens private ports; messages name the first one. */
  trafficTokenNames: readonly string[];
  /** A preflight neither wakes a sandbox nor waits for one. */
  preflight: boolean;
  transitionWaitMs: number;
  /** Time of day, ms since 1970. */
  wallNow: () => number;
  /** Fires when the client left. */
  signal: AbortSignal;
}

type Located =
  /** `link`: the preview link in the address that opened the port. */
  | { kind: 'route'; route: Route; link?: PreviewLink | undefined }
  | { kind: 'refused'; refusal: Refusal }
  /** Another server has it by now, and judges the request as this one did. */
  | { kind: 'on-other-node' };

/** Finds a running sandbox for a request: checks private ingress, waits for transitions, wakes it when it may. */
export async function locate(options: LocateOptions): Promise<Located> {
  const { deps, sandboxId, port, daemonPort, headers, preflight } = options;
  const trafficAccessToken = firstHeader(headers, options.trafficTokenNames);
  const accessToken = headers['x-access-token']?.toString();
  const refused = (refusal: Omit<Refusal, 'sandboxId'>): Located => ({
    kind: 'refused',
    refusal: { ...refusal, sandboxId },
  });
  let link: PreviewLink | undefined;
  const privateRefusal = (route: Route): Located | undefined => {
    const access = judgePort(route, { ...options, nowMs: options.wallNow() });
    if (!access.open) return refused({ reason: 'private_ingress', message: access.message });
    link = access.link;
    return undefined;
  };

  let deadline: AbortSignal | undefined;
  let route = await deps.findRoute(sandboxId);
  for (;;) {
    if (!route) {
      if ((await deps.otherNodes?.has(sandboxId)) === true) return { kind: 'on-other-node' };
      return refused({ reason: 'sandbox_not_found' });
    }
    if (route.state === 'running') return privateRefusal(route) ?? { kind: 'route', route, link };
    if (route.state === 'transition') {
      if (preflight || deadline?.aborted) return refused({ reason: 'transition' });
      const refusal = privateRefusal(route);
      if (refusal) return refusal;
      deadline ??= anyOf([AbortSignal.timeout(options.transitionWaitMs), options.signal]);
      route = await waitUntilSettled(deps, sandboxId, deadline);
      continue;
    }
    if (!route.autoResume.enabled || preflight) return refused({ reason: 'sandbox_not_found' });
    const refusal = privateRefusal(route);
    if (refusal) return refusal;
    if (port === daemonPort && route.daemon && !sameSecret(accessToken, route.daemon.clientToken)) {
      return refused({ reason: 'access_token' });
    }
    const outcome = await options.resume(sandboxId, { port, accessToken, trafficAccessToken });
    if (outcome.kind === 'running') return { kind: 'route', route: outcome.route, link };
    if (outcome.kind === 'moved') return { kind: 'on-other-node' };
    if (outcome.kind === 'deleted') return refused({ reason: 'sandbox_not_found' });
    if (outcome.kind === 'refused') return refused({ reason: 'resume_refused', message: outcome.message });
    if (outcome.kind === 'limited') return refused({ reason: 'resume_limited', message: outcome.message });
    deadline ??= anyOf([AbortSignal.timeout(options.transitionWaitMs), options.signal]);
    if (deadline.aborted) return refused({ reason: 'transition' });
    await pause(50, deadline);
    route = await deps.findRoute(sandboxId);
  }
}
