import http, {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { NodeRecord } from '../../api/context/nodes.js';
import { ForwardWatch } from './forward-watch.js';
import { isFromNode, issueNodeToken, NODE_HEADER } from './node-token.js';
import { certificateRefusal, NodeUnreachableError, refusalText } from './node-unreachable.js';
import type { NodePorts } from './ownership.js';
import { HERE, type Owner, ownerOfSandbox } from './ownership.js';
import { readAnswer } from './read-answer.js';

/** A request of the platform API for another node, its body read already. */
export interface ApiRequest {
  method: string;
  /** Path with query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON body, if there was one. */
  body: unknown;
  requestId: string;
  signal: AbortSignal;
}

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/**
 * Headers of a request of the API that another node needs: it authenticates, checks and answers by itself. Not the idempotency key:
 * the node that was asked keeps the answer, whichever node gives it.
 */
const PASSED_ON = ['x-api-key', 'accept', 'user-agent'];
/** Headers that this node writes by itself, or that belong to the connection between the nodes. */
const OWN = /^(connection|keep-alive|transfer-encoding|content-length|date|x-request-id|access-control-.*)$/;

/** Time for a node to acknowledge a request, ms. */
const ACKNOWLEDGE_MS = 5_000;

/** The largest that a server answers to a request of the API, with room to spare. */
const MOST_ANSWER_BYTES = 32 * 2 ** 20;

const POOL = { keepAlive: true, maxFreeSockets: 64, timeout: 60_000 };

/**
 * Passes requests on to the nodes that they belong to. One that comes from another node is passed on once more only when its sandbox was here
 * and has moved meanwhile.
 */
export class NodeForwarder {
  readonly #ports: NodePorts;
  readonly #plain = new http.Agent(POOL);
  readonly #secure = new https.Agent(POOL);
  readonly #open = new Set<Duplex>();
  /** Nodes whose certificate was not accepted. */
  readonly #refused = new Set<string>();
  readonly #watch: ForwardWatch;

  constructor(ports: NodePorts) {
    this.#ports = ports;
    this.#watch = new ForwardWatch(ports.nodes);
  }

  /** Returns whether another node passed this request on. */
  comesFromNode(req: Pick<IncomingMessage, 'headers' | 'method' | 'url'>): boolean {
    const { keys, nodes } = this.#ports;
    const token = req.headers[NODE_HEADER];
    if (token === undefined || !nodes.shared) return false;
    return isFromNode(keys, token, { method: req.method ?? '', url: req.url ?? '' }, this.#ports.now());
  }

  /** Returns the node of a request into a sandbox. It removes the node token, so that no sandbox ever sees one. */
  ownerOf(req: IncomingMessage, sandboxId: string | undefined): Owner | Promise<Owner> {
    const passedOn = this.comesFromNode(req);
    removeToken(req);
    return passedOn || sandboxId === undefined ? HERE : ownerOfSandbox(this.#ports, sandboxId);
  }

  /** Has another node answer a request of the platform API. @throws {NodeUnreachableError} */
  async ask(node: NodeRecord, { method, url, body, signal, ...request }: ApiRequest): Promise<ApiAnswer> {
    const headers = ['host', new URL(node.apiUrl).host, 'x-request-id', request.requestId];
    for (const name of PASSED_ON) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.push(name, value);
    }
    const text = body === undefined ? '' : JSON.stringify(body);
    if (text !== '') headers.push('content-type', 'application/json');
    if (text !== '' || !/^(GET|DELETE)$/.test(method))
      headers.push('content-length', String(Buffer.byteLength(text)));
    let acknowledged = false;
    let answered = () => {};
    try {
      const target = this.#target(node, node.apiUrl, { method, url, headers });
      const upstream = http.request({ ...target, signal });
      answered = this.#bound(node, upstream, () => {
        acknowledged = true;
      });
      const up = await new Promise<IncomingMessage>((resolve, reject) => {
        upstream.on('response', resolve).on('error', reject).end(text);
      });
      // It stops, or has too many connections: nothing was begun.
      if (up.statusCode === 503 && node.acknowledges && !acknowledged) {
        up.resume();
        throw new NodeUnreachableError(node.id, false, new Error('it refuses new requests'));
      }
      const kept = Object.entries(up.headers).filter(
        (entry): entry is [string, string | string[]] => entry[1] !== undefined && !OWN.test(entry[0]),
      );
      const answer = await readAnswer(up, MOST_ANSWER_BYTES);
      return { status: up.statusCode ?? 502, headers: Object.fromEntries(kept), body: answer };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (NodeUnreachableError.is(error)) throw error;
      const begun = node.acknowledges ? acknowledged : !isRefusedConnection(error);
      throw new NodeUnreachableError(node.id, begun, error);
    } finally {
      answered();
    }
  }

  /**
   * Sends another node a request that no client can send. The caller reads the answer to its end, or destroys it.
   * @throws {NodeUnreachableError}
   */
  async open(
    node: NodeRecord,
    { method, url, signal }: { method: 'GET' | 'POST'; url: string; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const headers = [
      'host',
      new URL(node.apiUrl).host,
      ...(method === 'POST' ? ['content-length', '0'] : []),
    ];
    const upstream = http.request({ ...this.#target(node, node.apiUrl, { method, url, headers }), signal });
    const answered = this.#bound(node, upstream);
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        upstream.on('response', resolve).on('error', reject).end();
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new NodeUnreachableError(node.id, !isRefusedConnection(error), error);
    } finally {
      answered();
    }
  }

  /**
   * Ends a request that a node does not say to have got, or whose node falls silent before it has answered.
   * @returns what says that the answer is there
   */
  #bound(node: NodeRecord, upstream: ClientRequest, onAcknowledged: () => void = () => {}): () => void {
    const end = () => upstream.destroy(new Error(`node ${node.id} does not answer`));
    const timer = node.acknowledges ? setTimeout(end, ACKNOWLEDGE_MS).unref() : undefined;
    const forget = this.#watch.add(node.id, end);
    upstream.on('information', ({ statusCode }) => {
      if (statusCode !== 102) return;
      clearTimeout(timer);
      onAcknowledged();
    });
    upstream.once('response', () => clearTimeout(timer));
    upstream.once('upgrade', () => clearTimeout(timer));
    upstream.once('close', () => {
      clearTimeout(timer);
      forget();
    });
    return forget;
  }

  /** Passes a request into a sandbox on, as it is. @param baseUrl default: that of the node's gateway */
  request(
    node: NodeRecord,
    req: IncomingMessage,
    res: ServerResponse,
    expectContinue: boolean,
    baseUrl = node.sandboxUrl,
  ): void {
    const upstream = http.request(this.#rawTarget(node, req, baseUrl));
    this.#bound(node, upstream);
    upstream.on('continue', () => {
      if (expectContinue && !res.headersSent) res.writeContinue();
    });
    upstream.on('error', (error) => {
      this.#tellRefusal(node, error);
      if (res.headersSent) res.destroy();
      else refuseUnreachable(res);
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
    const upstream = http.request(this.#rawTarget(node, req, node.sandboxUrl));
    this.#bound(node, upstream);
    this.#open.add(socket);
    socket.on('error', () => upstream.destroy());
    socket.once('close', () => {
      this.#open.delete(socket);
      upstream.destroy();
    });
    upstream.on('error', (error) => {
      this.#tellRefusal(node, error);
      socket.destroy();
    });
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

  /** Once for each node: clients may ask any number of times. */
  #tellRefusal(node: NodeRecord, error: unknown): void {
    const reason = certificateRefusal(error);
    if (reason === undefined || this.#refused.has(node.id)) return;
    this.#refused.add(node.id);
    this.#ports.log.warn({ refusedNodeId: node.id }, refusalText(node.id, reason));
  }

  close(): void {
    this.#watch.close();
    this.#plain.destroy();
    this.#secure.destroy();
    for (const socket of this.#open) socket.destroy();
  }

  // The host that the client named says which sandbox is meant: it is among the headers.
  #rawTarget(node: NodeRecord, req: IncomingMessage, baseUrl: string): http.RequestOptions {
    const [method, url] = [req.method ?? 'GET', req.url ?? '/'];
    return {
      ...this.#target(node, baseUrl, { method, url, headers: req.rawHeaders }),
      setHost: false,
    };
  }

  #target(
    node: NodeRecord,
    baseUrl: string,
    { method, url, headers }: { method: string; url: string; headers: string[] },
  ): http.RequestOptions {
    const { keys, nodes } = this.#ports;
    const token = issueNodeToken(keys, { from: nodes.nodeId, to: node.id, method, url }, this.#ports.now());
    const { protocol, hostname, port } = new URL(baseUrl);
    return {
      protocol,
      agent: protocol === 'https:' ? this.#secure : this.#plain,
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: url,
      headers: [...headers, NODE_HEADER, token],
      maxHeaderSize: 64 * 1024,
    };
  }
}

/** Returns whether a connection was not even made. */
function isRefusedConnection(error: unknown): boolean {
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'].includes(
    String((error as { code?: unknown } | null)?.code),
  );
}

/** Answers for a node that is unreachable. */
export function refuseUnreachable(res: ServerResponse): void {
  const body = JSON.stringify({
    code: 503,
    message: 'the node that has it does not answer, try again later',
  });
  res.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '5' }).end(body);
}

function removeToken(req: IncomingMessage): void {
  if (req.headers[NODE_HEADER] === undefined) return;
  delete req.headers[NODE_HEADER];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2)
    if (req.rawHeaders[at]?.toLowerCase() === NODE_HEADER) req.rawHeaders.splice(at, 2);
}

function rawHead(up: IncomingMessage): string {
  let text = `HTTP/1.1 ${up.statusCode} ${up.statusMessage}\r\n`;
  for (let at = 0; at + 1 < up.rawHeaders.length; at += 2)
    text += `${up.rawHeaders[at]}: ${up.rawHeaders[at + 1]}\r\n`;
  return `${text}\r\n`;
}
