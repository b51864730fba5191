import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { Tracer } from '../api/context/tracer.js';
import { errors } from '../api/errors/catalog.js';
import type { ConnectionGuard } from '../api/limits/connections.js';
import { moveSandbox } from '../cluster/fleet/move-sandbox.js';
import { type NodeForwarder, refuseUnreachable } from '../cluster/nodes/forwarder.js';
import { homeOfSandbox, type Owner, ownerOfSandbox } from '../cluster/nodes/ownership.js';
import type { ResolvedSettings } from '../config/config.js';
import {
  type AddressedRequest,
  createGateway,
  type Gateway,
  gatewayServerOptions,
  type OtherNodes,
} from '../gateway/index.js';
import { findRoute, resumeForRequest, settled } from '../sandboxes/change/routing.js';
import type { ServerContext } from './context.js';
import { OpenRequests } from './open-requests.js';
import type { Certificates } from './tls/certificates.js';

/** The gateway on an HTTP server of its own, not listening yet. */
export function createGatewayServer(
  context: ServerContext,
  forwarder: NodeForwarder,
  options: ResolvedSettings,
  guard: ConnectionGuard,
  certificates?: Certificates,
): {
  gateway: Gateway;
  server: http.Server;
  forwarder: NodeForwarder;
  guard: ConnectionGuard;
  open: OpenRequests;
} {
  const gateway = createGateway({
    findRoute: (sandboxId) => findRoute(context, sandboxId),
    resume: (sandboxId) =>
      resumeForRequest(
        context,
        sandboxId,
        async ({ team_id: teamId }) => (await moveSandbox(context, { sandboxId, teamId }))?.kind === 'node',
      ),
    ...(context.nodes.shared ? { otherNodes: otherNodes(context, forwarder) } : {}),
    settled: (sandboxId, signal) => settled(context, sandboxId, signal),
    onAdmitted: (socket) => guard.trust(socket),
    log: context.log,
    wallNow: context.now,
    config: {
      sandboxHosts: hostsOf(options),
      tls: options.publicSandboxUrl?.startsWith('https:') === true,
      ...(options.headerPrefixes === undefined ? {} : { headerPrefixes: options.headerPrefixes }),
    },
  });
  const server =
    certificates === undefined
      ? http.createServer(gatewayServerOptions)
      : https.createServer({ ...gatewayServerOptions, ...certificates.options });
  certificates?.follow(server);
  guard.watch(server);
  const open = new OpenRequests();
  /** Finds out whose sandbox is meant, without a detour when it is one of ours. */
  const route = (req: IncomingMessage, addressed: AddressedRequest, then: (owner: Owner) => void) => {
    const owner = forwarder.ownerOf(req, addressed.kind === 'target' ? addressed.sandboxId : undefined);
    if (!(owner instanceof Promise)) return then(owner);
    owner.then(then, (error: unknown) => {
      context.log.error({ err: error }, 'the node of a sandbox could not be looked up');
      then({ kind: 'unreachable' });
    });
  };
  /** Returns whether another node sent a request. Its connections are kept for its next requests to any sandbox. */
  const isFromNode = (req: IncomingMessage) => {
    const passedOn = forwarder.comesFromNode(req);
    if (passedOn) guard.trust(req.socket);
    return passedOn;
  };
  const handle = (req: IncomingMessage, res: ServerResponse, expectContinue: boolean) => {
    if (context.draining()) return refuseStopping(res);
    if (isFromNode(req)) res.writeProcessing();
    const addressed = gateway.read(req);
    open.track(req, res, addressed.kind === 'target' ? addressed.daemonStream : undefined);
    if (context.tracer === undefined) pass(req, res, expectContinue, addressed);
    else traceGateway(context.tracer, req, res, addressed, () => pass(req, res, expectContinue, addressed));
  };
  const pass = (
    req: IncomingMessage,
    res: ServerResponse,
    expectContinue: boolean,
    addressed: AddressedRequest,
  ) =>
    route(req, addressed, (owner) => {
      if (owner.kind === 'node') forwarder.request(owner.node, req, res, expectContinue);
      else if (owner.kind === 'unreachable') refuseUnreachable(res);
      else if (expectContinue) gateway.handleContinue(req, res, addressed);
      else gateway.handleRequest(req, res, addressed);
    });
  server.on('request', (req, res) => handle(req, res, false));
  server.on('checkContinue', (req, res) => handle(req, res, true));
  server.on('upgrade', (req, socket, head) => {
    if (context.draining()) return refuseUpgrade(socket);
    if (isFromNode(req)) socket.write('HTTP/1.1 102 Processing\r\n\r\n');
    const addressed = gateway.read(req);
    route(req, addressed, (owner) => {
      if (owner.kind === 'node') forwarder.upgrade(owner.node, req, socket, head);
      else if (owner.kind === 'unreachable') refuseUpgrade(socket);
      else gateway.handleUpgrade(req, socket, head, addressed);
    });
  });
  server.on('connect', (req, socket) => gateway.handleConnect(req, socket));
  return { gateway, server, forwarder, guard, open };
}

/** Has the node answer that has a sandbox by now. Should it be this one again, the client is asked to retry. */
function otherNodes(context: ServerContext, forwarder: NodeForwarder): OtherNodes {
  const nodeOf = async (sandboxId: string) => {
    const owner = await ownerOfSandbox(context, sandboxId);
    return owner.kind === 'node' ? owner.node : undefined;
  };
  return {
    async has(sandboxId) {
      const home = await homeOfSandbox(context, sandboxId);
      return home !== null && home !== context.nodes.nodeId;
    },
    async request(req, res, sandboxId, expectContinue) {
      const node = await nodeOf(sandboxId);
      if (node === undefined) refuseUnreachable(res);
      else forwarder.request(node, req, res, expectContinue);
    },
    async upgrade(req, socket, head, sandboxId) {
      const node = await nodeOf(sandboxId);
      if (node === undefined) refuseUpgrade(socket);
      else forwarder.upgrade(node, req, socket, head);
    },
  };
}

function refuseUpgrade(socket: Duplex): void {
  socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
}

/** Answers a request that comes on an open connection while the server stops. */
function refuseStopping(res: ServerResponse): void {
  const error = errors.shuttingDown();
  res
    .writeHead(503, { ...error.headers, 'Content-Type': 'application/json', Connection: 'close' })
    .end(JSON.stringify(error.toRecord()));
}

/** Hosts under which clients know the gateway: on these the routing headers are required. */
function hostsOf({ publicSandboxUrl, host }: ResolvedSettings): string[] {
  return publicSandboxUrl === undefined ? [host, 'localhost'] : [new URL(publicSandboxUrl).hostname];
}

/**
 * Makes a request to a sandbox a span: which sandbox and port, and how it ended. Its `traceparent` is passed on unchanged: between
 * client and sandbox the gateway is no part of the conversation.
 */
function traceGateway(
  tracer: Tracer,
  req: IncomingMessage,
  res: ServerResponse,
  addressed: AddressedRequest,
  work: () => void,
): void {
  const target = addressed.kind === 'target' ? addressed : undefined;
  const name = target === undefined ? 'gateway.refused' : target.toDaemon ? 'gateway.daemon' : 'gateway.port';
  const attributes = {
    'http.request.method': req.method ?? '',
    ...(target === undefined ? {} : { 'svc.sandbox.id': target.sandboxId, 'svc.sandbox.port': target.port }),
  };
  tracer.requestSpan(req, res, name, attributes, work);
}
