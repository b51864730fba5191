import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isConnectStream } from '@svc/daemon/dial';
import { createAdmission } from './admit.js';
import { createConnector } from './connector.js';
import type { AddressedRequest, Gateway, GatewayDeps } from './contract.js';
import { Exchanges } from './exchanges.js';
import { handleRequest } from './handle-request.js';
import { handleUpgrade } from './handle-upgrade.js';
import { resolveTarget } from './host.js';
import type { GatewayParts } from './parts.js';
import { Pools } from './pools.js';
import { type Refusal, refusalStatus } from './refusal.js';
import { hasBody, readRequestLine } from './request-line.js';
import { answerOn, sendRefusal } from './respond.js';
import { type GatewaySettings, resolveSettings } from './settings.js';
import { createStats } from './stats.js';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };

const sandboxIdOf = (addressed: AddressedRequest) => (addressed.kind === 'target' ? addressed.sandboxId : '');

/** Creates the way into sandboxes. It owns connections into sandboxes, but no listening socket. */
export function createGateway(deps: GatewayDeps): Gateway {
  const settings = resolveSettings(deps.config);
  const log = deps.log ?? quiet;
  const now = deps.now ?? (() => performance.now());
  const wallNow = deps.wallNow ?? Date.now;
  const stats = createStats();
  const pools = new Pools();
  const exchanges = new Exchanges();

  const refuse = (req: IncomingMessage, res: ServerResponse, refusal: Refusal) => {
    stats.refusals[refusal.reason]++;
    const { reason, sandboxId, port } = refusal;
    log.info(
      { reason, sandboxId, port, method: req.method, status: refusalStatus(refusal) },
      'request refused',
    );
    sendRefusal(req, res, refusal);
  };

  const connect = createConnector({ settings, now, stats });
  const parts: GatewayParts = { deps, settings, log, now, wallNow, stats, pools, exchanges, connect, refuse };
  const admit = createAdmission(parts);
  const read = (req: IncomingMessage) => readRequest(req, settings);

  const request = async (
    req: IncomingMessage,
    res: ServerResponse,
    addressed = read(req),
    expectContinue = false,
  ) => {
    stats.requests++;
    const admitted = await admit(req, res, addressed);
    if (admitted === 'on-other-node')
      await deps.otherNodes?.request(req, res, sandboxIdOf(addressed), expectContinue);
    else if (admitted) await handleRequest(parts, req, res, admitted, expectContinue);
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
    read,
    handleRequest: (req, res, addressed) => guard(request(req, res, addressed), req, res),
    handleContinue: (req, res, addressed) => guard(request(req, res, addressed, true), req, res),
    handleUpgrade(req, socket, head, addressed = read(req)) {
      stats.upgrades++;
      const res = answerOn(req, socket);
      if (hasBody(req)) return refuse(req, res, { reason: 'bad_request' });
      const upgrade = async () => {
        const admitted = await admit(req, res, addressed);
        if (admitted === 'on-other-node') {
          // The answer is the other server's, on the socket as it is.
          res.detachSocket(socket as Socket);
          await deps.otherNodes?.upgrade(req, socket, head, sandboxIdOf(addressed));
        } else if (admitted) await handleUpgrade(parts, req, socket, head, res, admitted);
      };
      guard(upgrade(), req, res);
    },
    handleConnect(req, socket) {
      stats.requests++;
      refuse(req, answerOn(req, socket), { reason: 'method_refused' });
    },
    async close(sandboxId, reason = 'unreachable') {
      const stopped = exchanges.stop(sandboxId, reason);
      // A program that learns of a close just before gVisor stores it keeps that as an event that never ends.
      pools.close(sandboxId, { keepIdle: reason === 'paused' });
      await stopped;
    },
    get stats() {
      return { ...stats, refusals: { ...stats.refusals }, idleConnections: pools.idle };
    },
  };
}

/** Reads which sandbox and port a request means: the only place that does. */
function readRequest(req: IncomingMessage, settings: GatewaySettings): AddressedRequest {
  const line = readRequestLine(req);
  if (typeof line === 'string') return { kind: 'refused', reason: line };
  const target = resolveTarget(line.host, req.headers, settings.target);
  if (target.kind === 'refused') return target;
  const { sandboxId, port } = target;
  const toDaemon = port === settings.daemonPort;
  const daemonStream =
    !toDaemon || !isConnectStream(req.headers['content-type'])
      ? undefined
      : line.url.endsWith('/StreamInput')
        ? 'input'
        : 'output';
  return { kind: 'target', sandboxId, port, ...line, toDaemon, daemonStream };
}
