import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isConnectStream } from './connect-frames.js';
import { createConnector } from './connector.js';
import type {
  Gateway,
  GatewayDeps,
  ResumeCredentials,
  ResumeOutcome,
  Route,
  StopReason,
} from './contract.js';
import { ownTokenFor, resignedUrl } from './daemon-credentials.js';
import { DialFailure } from './dial.js';
import { type Exchange, Exchanges } from './exchanges.js';
import { forward } from './forward.js';
import { requestHeaders } from './forwarded-headers.js';
import { hostName, resolveTarget, type TargetOptions } from './host.js';
import { internalRoute } from './internal-route.js';
import { locate } from './locate.js';
import { Pools } from './pools.js';
import { type Refusal, refusalStatus } from './refusal.js';
import { hasBody, isPreflight, type RequestLine, readRequestLine } from './request-line.js';
import { answerOn, sendRefusal } from './respond.js';
import { sendMetrics, wantsMetrics } from './sandbox-metrics.js';
import { sameSecret } from './secrets.js';
import { watchSilence } from './silence.js';
import { createStats } from './stats.js';
import { forwardUpgrade } from './upgrade.js';

/** What clients of open streams are told, by what became of their sandbox. */
const stoppedMessages: Readonly<Record<StopReason, string>> = {
  paused: 'The sandbox was paused',
  killed: 'The sandbox was killed',
  expired: 'The sandbox reached the end of its time to live and was killed',
  ended: 'The sandbox ended unexpectedly',
  unreachable: 'The sandbox cannot be reached through this server any more',
};
const silentMessage = 'The sandbox does not answer';
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };

/** A request whose sandbox is found, and its place among the open ones. */
interface Admitted {
  route: Route;
  port: number;
  line: RequestLine;
  exchange: Exchange;
}

/** Creates the way into sandboxes. It owns connections into sandboxes, but no listening socket. */
export function createGateway(deps: GatewayDeps): Gateway {
  const config = deps.config ?? {};
  const log = deps.log ?? quiet;
  const now = deps.now ?? (() => performance.now());
  const daemonPort = config.daemonPort ?? 49_983;
  const connectionLimit = config.connectionLimitPerSandbox ?? 1000;
  const prefixes = ['Svc-', ...(config.headerPrefixes ?? [])];
  const targetOptions: TargetOptions = {
    sandboxHosts: (config.sandboxHosts ?? []).map(hostName),
    headerPrefixes: prefixes.map((prefix) => prefix.toLowerCase()),
  };
  const trafficTokenNames = prefixes.map((prefix) => `${prefix}Traffic-Access-Token`);
  const secretNames = new Set(trafficTokenNames.map((name) => name.toLowerCase()));
  const stats = createStats();
  const pools = new Pools();
  const exchanges = new Exchanges();
  const resuming = new Map<string, Promise<ResumeOutcome>>();

  const resume = (sandboxId: string, credentials: ResumeCredentials) => {
    const running = resuming.get(sandboxId);
    if (running) return running;
    stats.autoResumes++;
    const started = deps.resume(sandboxId, credentials).finally(() => resuming.delete(sandboxId));
    resuming.set(sandboxId, started);
    return started;
  };

  const connect = createConnector({ config, now, stats });

  const refuse = (req: IncomingMessage, res: ServerResponse, refusal: Refusal) => {
    stats.refusals[refusal.reason]++;
    const { reason, sandboxId, port } = refusal;
    log.info(
      { reason, sandboxId, port, method: req.method, status: refusalStatus(refusal) },
      'request refused',
    );
    sendRefusal(req, res, refusal);
  };

  /** Everything that is decided before a connection is opened. Undefined: the request was answered, or its client left. */
  const admit = async (req: IncomingMessage, res: ServerResponse): Promise<Admitted | undefined> => {
    const no = (refusal: Refusal) => refuse(req, res, refusal) as undefined;
    const line = readRequestLine(req);
    if (typeof line === 'string') return no({ reason: line });
    const target = resolveTarget(line.host, req.headers, targetOptions);
    if (target.kind === 'refused') return no({ reason: target.reason });
    const { sandboxId, port } = target;
    const path = port === daemonPort ? internalRoute(line.url) : undefined;
    if (path !== undefined) return no({ reason: 'internal_route', path });
    const left = new AbortController();
    const onLeft = () => left.abort();
    res.once('close', onLeft);
    const located = await locate({
      deps,
      resume,
      sandboxId,
      port,
      daemonPort,
      headers: req.headers,
      trafficTokenNames: [trafficTokenNames[0] ?? '', ...secretNames],
      preflight: isPreflight(req),
      transitionWaitMs: config.transitionWaitMs ?? 60_000,
      signal: left.signal,
    });
    res.off('close', onLeft);
    if (left.signal.aborted || res.destroyed) {
      stats.clientAborts++;
      return undefined;
    }
    if (located.kind === 'refused') return no(located.refusal);
    const exchange = exchanges.open(sandboxId, connectionLimit);
    if (!exchange) return no({ reason: 'connection_limit', sandboxId, connectionLimit });
    deps.onAdmitted?.(req.socket);
    return { route: located.route, port, line, exchange };
  };

  const maskedHost = (route: Route, port: number) =>
    route.maskRequestHost?.replaceAll('${PORT}', String(port));

  /** A client's token is for us: the daemon gets its own, and a program on another port gets none that opens the daemon. */
  const shownToken =
    ({ daemon }: Route, port: number) =>
    (given: string): string | undefined => {
      if (daemon === undefined) return given;
      if (port === daemonPort) return ownTokenFor(given, daemon);
      return sameSecret(given, daemon.clientToken) ? undefined : given;
    };

  const targetFor = (req: IncomingMessage, { daemon }: Route, port: number, url: string) =>
    daemon === undefined || port !== daemonPort ? url : resignedUrl(req.method ?? 'GET', url, daemon);

  /** Lets an exchange be ended by `close`, and the caller wait until its client has got the end. */
  const stoppable = (
    exchange: Exchange,
    closing: Duplex | ServerResponse,
    stop: (message: string) => void,
  ) => {
    exchange.stop = (reason) => {
      stats.closedExchanges++;
      stop(stoppedMessages[reason]);
      if (closing.destroyed) return Promise.resolve();
      return new Promise<void>((resolve) => {
        const timer = setTimeout(() => closing.destroy(), config.drainMs ?? 30_000);
        timer.unref();
        closing.once('close', () => {
          clearTimeout(timer);
          resolve();
        });
      });
    };
  };

  const handle = async (req: IncomingMessage, res: ServerResponse, expectContinue: boolean) => {
    stats.requests++;
    const admitted = await admit(req, res);
    if (!admitted) return;
    const { route, port, line, exchange } = admitted;
    const { sandboxId } = route;
    const startedAt = now();
    const sent = { request: 0, response: 0 };
    let endWatch: (() => void) | undefined;
    stats.openRequests++;
    res.once('close', () => {
      stats.openRequests--;
      endWatch?.();
      exchanges.release(exchange);
      const fields = {
        sandboxId,
        port,
        method: req.method,
        status: res.statusCode,
        durationMs: now() - startedAt,
      };
      log.debug({ ...fields, requestBytes: sent.request, responseBytes: sent.response }, 'request forwarded');
    });
    if (port === daemonPort && wantsMetrics(req, route, line.url)) {
      stoppable(exchange, res, () => res.destroy());
      req.resume();
      return sendMetrics(res, route);
    }
    const masked = maskedHost(route, port);
    const agent = pools.agent({
      route,
      port,
      idleMs: port === daemonPort ? (config.daemonIdleMs ?? 620_000) : (config.serviceIdleMs ?? 4000),
      connect: (signal) => connect({ route, port, host: masked ?? line.host, signal }),
    });
    // Other ports belong to programs that may answer when they like.
    endWatch =
      port !== daemonPort
        ? undefined
        : watchSilence({
            findRoute: () => deps.findRoute(sandboxId),
            port,
            waitMs: config.silenceMs ?? 10_000,
            probeMs: config.healthMs ?? 10_000,
            onSilent: () => forwarding.stop(silentMessage, 'daemon_silent'),
          });
    const forwarding = forward({
      req,
      res,
      agent,
      url: targetFor(req, route, port, line.url),
      headers: requestHeaders(req, {
        host: line.host,
        maskedHost: masked,
        secretNames,
        accessToken: shownToken(route, port),
        expectContinue,
      }),
      expectContinue,
      refuse: (reason) => refuse(req, res, { reason, sandboxId, port }),
      onReused: () => stats.reusedConnections++,
      onHead: () => endWatch?.(),
      onRequestBytes: (count) => {
        sent.request += count;
        stats.requestBytes += count;
      },
      onResponseBytes: (count) => {
        sent.response += count;
        stats.responseBytes += count;
      },
      onClientLeft: () => stats.clientAborts++,
      onUpstreamBroken: () => stats.upstreamAborts++,
    });
    stoppable(exchange, res, (message) => forwarding.stop(message, 'sandbox_stopped'));
  };

  const upgrade = async (req: IncomingMessage, socket: Duplex, head: Buffer, res: ServerResponse) => {
    stats.upgrades++;
    if (hasBody(req)) return refuse(req, res, { reason: 'bad_request' });
    const admitted = await admit(req, res);
    if (!admitted) return;
    const { route, port, line, exchange } = admitted;
    const { sandboxId } = route;
    const startedAt = now();
    const dialing = new AbortController();
    stats.openUpgrades++;
    socket.once('close', () => {
      dialing.abort();
      stats.openUpgrades--;
      exchanges.release(exchange);
      log.debug({ sandboxId, port, durationMs: now() - startedAt }, 'upgraded connection closed');
    });
    stoppable(exchange, socket, () => {
      refuse(req, res, { reason: 'sandbox_stopped', sandboxId });
      dialing.abort();
    });
    const masked = maskedHost(route, port);
    let stream: Duplex;
    try {
      stream = await connect({ route, port, host: masked ?? line.host, signal: dialing.signal });
    } catch (error) {
      if (res.headersSent || socket.destroyed) return;
      if (!(error instanceof DialFailure))
        return refuse(req, res, { reason: 'upstream_failed', sandboxId, port });
      const reason = error.kind === 'gone' ? 'sandbox_not_found' : 'port_closed';
      return refuse(req, res, { reason, sandboxId, port });
    }
    if (dialing.signal.aborted || socket.destroyed) {
      stream.destroy();
      return;
    }
    const protocol = req.headers.upgrade ?? '';
    // HTTP/2 without TLS is declined by answering in HTTP/1.1, which a client that offers it expects.
    const asked = /^\s*h2c\s*$/i.test(protocol) ? {} : { upgrade: protocol };
    const forwarding = forwardUpgrade({
      req,
      socket,
      head,
      res,
      stream,
      url: targetFor(req, route, port, line.url),
      headers: requestHeaders(req, {
        host: line.host,
        maskedHost: masked,
        secretNames,
        accessToken: shownToken(route, port),
        expectContinue: false,
        ...asked,
      }),
      refuse: (reason) => refuse(req, res, { reason, sandboxId, port }),
      onBytes: (count) => {
        stats.responseBytes += count;
      },
      onBroken: () => stats.upstreamAborts++,
    });
    stoppable(exchange, socket, forwarding.stop);
  };

  /** An unforeseen failure: counted, logged by name, answered as 502 when nothing was sent, else broken off. */
  const guard = (work: Promise<void>, req: IncomingMessage, res: ServerResponse) => {
    work.catch((error: unknown) => {
      log.warn(
        { error: error instanceof Error ? `${error.name}: ${error.message}` : 'unknown' },
        'gateway failure',
      );
      if (res.headersSent) res.destroy();
      else refuse(req, res, { reason: 'upstream_failed', message: 'The request could not be passed on' });
    });
  };

  return {
    claims(req) {
      const line = readRequestLine(req);
      if (typeof line === 'string') return false;
      const target = resolveTarget(line.host, req.headers, targetOptions);
      return target.kind === 'target' || target.via === 'headers';
    },
    sandboxIdOf(req) {
      const line = readRequestLine(req);
      if (typeof line === 'string') return undefined;
      const target = resolveTarget(line.host, req.headers, targetOptions);
      return target.kind === 'target' ? target.sandboxId : undefined;
    },
    daemonStreamOf(req) {
      if (!isConnectStream(req.headers['content-type'])) return undefined;
      const line = readRequestLine(req);
      if (typeof line === 'string') return undefined;
      const target = resolveTarget(line.host, req.headers, targetOptions);
      if (target.kind !== 'target' || target.port !== daemonPort) return undefined;
      return line.url.endsWith('/StreamInput') ? 'input' : 'output';
    },
    handleRequest: (req, res) => guard(handle(req, res, false), req, res),
    handleContinue: (req, res) => guard(handle(req, res, true), req, res),
    handleUpgrade(req, socket, head) {
      const res = answerOn(req, socket);
      guard(upgrade(req, socket, head, res), req, res);
    },
    handleConnect(req, socket) {
      stats.requests++;
      refuse(req, answerOn(req, socket), { reason: 'method_refused' });
    },
    async close(sandboxId, reason = 'unreachable') {
      const stopped = exchanges.stop(sandboxId, reason);
      pools.close(sandboxId);
      await stopped;
    },
    get stats() {
      return { ...stats, refusals: { ...stats.refusals }, idleConnections: pools.idle };
    },
  };
}
