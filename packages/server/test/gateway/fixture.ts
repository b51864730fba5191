import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import {
  createGateway,
  type Gateway,
  type GatewayDeps,
  gatewayServerOptions,
  type Route,
} from '../../src/gateway/index.js';

/** A sandbox of the tests: its ports are real listeners of this process. */
export interface FakeSandbox {
  route: Route;
  ports: Map<number, number>;
  /** Connections that were dialed, newest last. */
  dialed: Socket[];
}

export function fakeSandbox(sandboxId: string, overrides: Partial<Route> = {}): FakeSandbox {
  const ports = new Map<number, number>();
  const dialed: Socket[] = [];
  const route: Route = {
    sandboxId,
    state: 'running',
    instanceKey: 'i1',
    allowPublicTraffic: true,
    trafficToken: () => 'traffic-secret',
    httpsPorts: [],
    autoResume: { enabled: false },
    async dial(port) {
      const target = ports.get(port);
      if (target === undefined) throw Object.assign(new Error('refused'), { code: 'port_closed' });
      const socket = connect({ host: '127.0.0.1', port: target, noDelay: true });
      dialed.push(socket);
      await once(socket, 'connect');
      return socket;
    },
    ...overrides,
  };
  return { route, ports, dialed };
}

/** A gateway on a port of its own, with everything that must be closed after the test. */
export class Fixture implements AsyncDisposable {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly logged: object[] = [];
  gateway!: Gateway;
  server!: Server;
  port = 0;
  readonly #closers: (() => void)[] = [];

  static async open(deps: Partial<GatewayDeps> = {}): Promise<Fixture> {
    const fixture = new Fixture();
    const note = (fields: object) => void fixture.logged.push(fields);
    fixture.gateway = createGateway({
      findRoute: (id) => fixture.sandboxes.get(id)?.route,
      resume: async () => ({ kind: 'deleted' }),
      log: { debug: note, info: note, warn: note },
      ...deps,
      config: { dialBudgetMs: 0, ...deps.config },
    });
    const { gateway } = fixture;
    fixture.server = createServer(gatewayServerOptions, gateway.handleRequest);
    fixture.server.on('checkContinue', gateway.handleContinue);
    fixture.server.on('upgrade', gateway.handleUpgrade);
    fixture.server.on('connect', gateway.handleConnect);
    fixture.port = await fixture.#listen(fixture.server);
    return fixture;
  }

  add(sandboxId: string, overrides: Partial<Route> = {}): FakeSandbox {
    const sandbox = fakeSandbox(sandboxId, overrides);
    this.sandboxes.set(sandboxId, sandbox);
    return sandbox;
  }

  /** Serves HTTP on a port of a sandbox. */
  async serve(sandbox: FakeSandbox, port: number, listener: RequestListener): Promise<Server> {
    const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, listener);
    sandbox.ports.set(port, await this.#listen(server));
    return server;
  }

  /** Serves raw TCP on a port of a sandbox. */
  async serveTcp(sandbox: FakeSandbox, port: number, onSocket: (socket: Socket) => void): Promise<void> {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      onSocket(socket);
    });
    sandbox.ports.set(port, await this.#listen(server as unknown as Server));
  }

  async #listen(server: Server): Promise<number> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#closers.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return (server.address() as AddressInfo).port;
  }

  /** Lets a server made elsewhere stand behind a sandbox's port and be closed with the fixture. */
  async listen(server: Server): Promise<number> {
    return await this.#listen(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    void this.gateway.close();
    for (const close of this.#closers) close();
  }
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  trailers: NodeJS.Dict<string>;
  body: string;
  /** False when the connection broke before the end. */
  complete: boolean;
}

export interface AskOptions {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** One request on a connection of its own. Rejects only when no answer came at all. */
export function ask(port: number, options: AskOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', path = '/', headers = {}, body } = options;
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
    outgoing.once('error', reject);
    outgoing.once('response', (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', () => undefined);
      res.once('close', () => {
        const { statusCode = 0, headers: received, rawHeaders, trailers, complete } = res;
        const text = Buffer.concat(chunks).toString();
        resolve({ status: statusCode, headers: received, rawHeaders, trailers, body: text, complete });
      });
    });
    outgoing.end(body);
  });
}

/** Headers that choose a sandbox. */
export function to(sandboxId: string, port: number | string): Record<string, string> {
  return { 'Svc-Sandbox-Id': sandboxId, 'Svc-Sandbox-Port': String(port) };
}

/** A raw TCP client that keeps what it receives. */
export async function rawClient(
  port: number,
): Promise<{ socket: Socket; text: () => string; bytes: () => Buffer; closed: () => boolean }> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const chunks: Buffer[] = [];
  let closed = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => chunks.push(chunk as Buffer));
  socket.once('close', () => {
    closed = true;
  });
  await once(socket, 'connect');
  return {
    socket,
    text: () => Buffer.concat(chunks).toString('latin1'),
    bytes: () => Buffer.concat(chunks),
    closed: () => closed,
  };
}

export function reply(
  res: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, headers);
  res.end(body);
}
