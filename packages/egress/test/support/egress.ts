import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EgressPolicy } from '@svc/network-policy';
import { onTestFinished } from 'vitest';
import { connectEgress } from '../../src/control/connect.js';
import type { EgressControl, EgressHandlers, EgressReport } from '../../src/control/types.js';
import { connectTcp } from '../../src/dial/connect-tcp.js';
import { brokeOff } from '../../src/failures/broke-off.js';
import { type StartEgressOptions, startEgress } from '../../src/start/start-egress.js';
import { addressesReply, nameOf } from './dns.js';

/** A destination that a test pretends its next connection has. */
export interface Pretended {
  source?: string;
  address?: string;
  port: number;
}

export interface TestEgress {
  control: EgressControl;
  reports: EgressReport[];
  /** Addresses by name, as the resolver returns them. */
  names: Map<string, string[]>;
  values: Map<string, string>;
  /** DNS names that were asked for. */
  asked: string[];
  /** Ports that servers of a test listen on, by the ports that they stand for. */
  servers: Map<number, number>;
  dnsPorts: { udp: number | undefined; tcp: number | undefined };
  /** Connects as a sandbox would. */
  connect(to: Pretended): Socket;
  /** Replaces the policy of the usual sandbox, 10.9.0.2. */
  setPolicy(policy: Partial<EgressPolicy>): Promise<void>;
  /** Another control connection, as a server that was started again makes one. */
  reconnect(handlers?: Partial<EgressHandlers>): Promise<EgressControl>;
  /** Waits for a report. */
  report(matches: (report: EgressReport) => boolean): Promise<EgressReport>;
}

export const SANDBOX = '10.9.0.2';

/** Where names lead: loopback, which tests except from the denied ranges. */
export const ALLOW_RANGES = ['127.0.0.0/8'];

/** Starts an egress process within the test, without transparent proxying: tests say what connections pretend. */
export async function startTestEgress(options: Partial<StartEgressOptions> = {}): Promise<TestEgress> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-egress-'));
  const path = join(directory, 'control.sock');
  const servers = new Map<number, number>();
  const pretended = new Map<string, Pretended>();
  const egress = await startEgress({
    listen: { host: '127.0.0.1', port: 0 },
    control: { path },
    allowRanges: ALLOW_RANGES,
    reportMs: 20,
    answerMs: 5_000,
    endsOf: ({ remoteAddress }) => {
      const to = pretended.get(remoteAddress!);
      return to && { source: to.source ?? SANDBOX, address: to.address ?? '127.0.0.1', port: to.port };
    },
    connectTcp: (address, destination, signal, onread) =>
      connectTcp(address, servers.get(destination) ?? destination, signal, onread),
    ...options,
  });
  const reports: EgressReport[] = [];
  const waiting = new Set<() => void>();
  const names = new Map<string, string[]>();
  const values = new Map<string, string>();
  const asked: string[] = [];
  const handlers: EgressHandlers = {
    resolveDns: async (query) => {
      const name = nameOf(query);
      asked.push(name);
      return addressesReply(query, names.get(name));
    },
    resolvePlaceholders: async (placeholders) =>
      placeholders.map(({ kind, name }) => {
        const value = values.get(`${kind}:${name}`);
        if (value === undefined) throw new Error(`no ${name}`);
        return value;
      }),
    onReports: (batch) => {
      reports.push(...batch);
      for (const wake of waiting) wake();
    },
  };
  const reconnect = (over: Partial<EgressHandlers> = {}) =>
    connectEgress(connect(path), { ...handlers, ...over });
  const control = await reconnect();
  onTestFinished(async () => {
    await egress.close();
    control.close();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    control,
    reports,
    names,
    values,
    asked,
    servers,
    dnsPorts: egress.dnsPorts,
    reconnect,
    connect: (to) => connectAs(egress.port!, pretended, to),
    setPolicy: (policy) =>
      control.setSandbox({
        id: 'sandbox',
        execution: 'execution',
        address: SANDBOX,
        policy: { allowOut: [], denyOut: [], rules: {}, ...policy },
      }),
    report: (matches) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`no such report in ${JSON.stringify(reports)}`)),
          30_000,
        );
        const look = () => {
          const found = reports.find(matches);
          if (found === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

function connectAs(port: number, pretended: Map<string, Pretended>, to: Pretended): Socket {
  // Each connection comes from a loopback address of its own, by which its ends are found.
  const count = ++connections;
  const localAddress = `127.${100 + (count >> 16)}.${(count >> 8) & 0xff}.${count & 0xff}`;
  pretended.set(localAddress, to);
  const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true, allowHalfOpen: true });
  socket.on('error', () => undefined);
  return socket;
}

let connections = 0;

/** A server on loopback for the test. */
export async function startServer(
  onConnection: (socket: Socket) => void,
  host = '127.0.0.1',
): Promise<{ port: number; server: Server }> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    sockets.add(socket);
    onConnection(socket);
  });
  const sockets = new Set<Socket>();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, port: (server.address() as { port: number }).port };
}

/** Returns the end of a connection, and the bytes before it. */
export function readAll(socket: Socket): Promise<{ bytes: Buffer; end: 'end' | 'reset' }> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => parts.push(chunk));
    socket.once('end', () =>
      resolve({ bytes: Buffer.concat(parts), end: brokeOff(socket) ? 'reset' : 'end' }),
    );
    socket.once('close', () => resolve({ bytes: Buffer.concat(parts), end: 'reset' }));
  });
}
