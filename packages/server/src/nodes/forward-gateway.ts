import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Uses } from '../context/context.js';
import { otherOwnerOf } from './owner.js';
import { isFromNode, NODE_HEADER, proveNode } from './proof.js';
import type { NodeRecord } from './registry.js';

/** Where a request for a sandbox has to go. */
export type Destination = { kind: 'here' } | { kind: 'node'; node: NodeRecord } | { kind: 'dead' };

const HERE = { kind: 'here' } as const;

/** Passes requests for sandboxes of other nodes on to the gateways of those nodes, as they are. */
export class NodeForwarder {
  readonly #context: Uses<'db' | 'keys' | 'nodes' | 'now' | 'sandboxes'>;
  readonly #agent = new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: 60_000 });
  readonly #open = new Set<Duplex>();

  constructor(context: Uses<'db' | 'keys' | 'nodes' | 'now' | 'sandboxes'>) {
    this.#context = context;
  }

  /** Decides. A request that comes from another node is never passed on once more. */
  destination(req: IncomingMessage, sandboxId: string | undefined): Destination | Promise<Destination> {
    const { nodes, keys, sandboxes } = this.#context;
    const proof = takeProof(req);
    if (!nodes.shared || sandboxId === undefined || sandboxes.get(sandboxId) !== undefined) return HERE;
    const meant = { method: req.method ?? '', url: req.url ?? '' };
    if (proof !== undefined && isFromNode(keys, proof, meant, this.#context.now())) return HERE;
    return this.#find(sandboxId);
  }

  async #find(sandboxId: string): Promise<Destination> {
    const owner = await otherOwnerOf(this.#context, sandboxId);
    if (owner === undefined) return HERE;
    const node = await this.#context.nodes.findAlive(owner);
    return node === undefined ? { kind: 'dead' } : { kind: 'node', node };
  }

  request(node: NodeRecord, req: IncomingMessage, res: ServerResponse, expectContinue: boolean): void {
    const upstream = http.request({ ...this.#target(node, req), agent: this.#agent });
    upstream.on('continue', () => {
      if (expectContinue && !res.headersSent) res.writeContinue();
    });
    upstream.on('error', () => {
      if (res.headersSent) res.destroy();
      else refuseDead(res);
    });
    upstream.on('response', (up) => {
      if (res.destroyed) return up.destroy();
      res.writeHead(up.statusCode ?? 502, up.statusMessage, up.rawHeaders);
      up.on('error', () => res.destroy());
      up.once('close', () => {
        if (!up.complete) res.destroy();
      });
      up.pipe(res);
    });
    res.once('close', () => {
      if (!res.writableFinished) upstream.destroy();
    });
    req.pipe(upstream);
  }

  upgrade(node: NodeRecord, req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const upstream = http.request({ ...this.#target(node, req), agent: false });
    this.#open.add(socket);
    socket.on('error', () => upstream.destroy());
    socket.once('close', () => {
      this.#open.delete(socket);
      upstream.destroy();
    });
    upstream.on('error', () => socket.destroy());
    upstream.on('response', (up) => {
      socket.write(rawHead(up));
      up.pipe(socket);
    });
    upstream.on('upgrade', (up, stream, rest) => {
      socket.write(Buffer.concat([Buffer.from(rawHead(up), 'latin1'), rest]));
      if (head.length > 0) stream.write(head);
      stream.on('error', () => socket.destroy());
      stream.once('close', () => socket.destroy());
      socket.once('close', () => stream.destroy());
      stream.pipe(socket).pipe(stream);
    });
    upstream.end();
  }

  close(): void {
    this.#agent.destroy();
    for (const socket of this.#open) socket.destroy();
  }

  #target(node: NodeRecord, req: IncomingMessage): http.RequestOptions {
    const { keys, nodes } = this.#context;
    const [method, url] = [req.method ?? 'GET', req.url ?? '/'];
    const proof = proveNode(keys, { from: nodes.nodeId, to: node.id, method, url }, this.#context.now());
    const { hostname, port } = new URL(node.sandboxUrl);
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: url,
      // The host that the client named says which sandbox is meant: it is among them.
      headers: [...req.rawHeaders, NODE_HEADER, proof] as unknown as http.OutgoingHttpHeaders,
      setHost: false,
      maxHeaderSize: 64 * 1024,
    };
  }
}

/** Answers for a node that is gone. */
export function refuseDead(res: ServerResponse): void {
  const body = JSON.stringify({
    code: 503,
    message: 'the node of this sandbox does not answer, try again later',
  });
  res.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '5' }).end(body);
}

/** Takes the proof off a request, so that no sandbox ever sees one. */
function takeProof(req: IncomingMessage): string | undefined {
  const proof = req.headers[NODE_HEADER];
  if (proof === undefined) return undefined;
  delete req.headers[NODE_HEADER];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2)
    if (req.rawHeaders[at]?.toLowerCase() === NODE_HEADER) req.rawHeaders.splice(at, 2);
  return typeof proof === 'string' ? proof : undefined;
}

function rawHead(up: IncomingMessage): string {
  let text = `HTTP/1.1 ${up.statusCode} ${up.statusMessage}\r\n`;
  for (let at = 0; at + 1 < up.rawHeaders.length; at += 2)
    text += `${up.rawHeaders[at]}: ${up.rawHeaders[at + 1]}\r\n`;
  return `${text}\r\n`;
}
