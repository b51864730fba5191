import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { Questions } from '../control/questions.js';
import { serveControl } from '../control/serve.js';
import type { ConnectTcp } from '../dial/connect-tcp.js';
import { Dialer } from '../dial/dialer.js';
import { DnsForwarder } from '../dns/forwarder.js';
import { Names } from '../dns/names.js';
import { NameResolver } from '../dns/resolve-name.js';
import { dnsConnections, serveUdp } from '../dns/serve-dns.js';
import type { FlowEnds } from '../flows/flow.js';
import { Http1Relay } from '../http/relay-http1.js';
import { Interceptor } from '../intercept/interceptor.js';
import { MemoryGuard } from '../sandboxes/memory-guard.js';
import { Registry } from '../sandboxes/registry.js';
import { Reports } from '../sandboxes/reports.js';
import { FlowServer } from '../serve/flow-server.js';

/** The address of a server: an inherited descriptor, an address, or the path of a Unix socket. */
export type Listen = Pick<ListenOptions, 'host' | 'port' | 'path'> | { fd: number };

export interface StartEgressOptions {
  /** Where connections of sandboxes arrive. With transparent proxying a connection's local address is where it was going. */
  listen: Listen;
  control: Listen;
  /** Where queries of sandboxes arrive; without it their names are not resolved. */
  dnsUdp?: { host: string; port: number } | { fd: number };
  dnsTcp?: Listen;
  /** Ranges that may be reached though they are always denied otherwise. */
  allowRanges?: readonly string[];
  /** Connections of one sandbox: half of the free ones where that is less. Default 2000; twice as many to the outside. */
  connectionsPerSandbox?: number;
  /** Connections of all sandboxes. Default 20 000. */
  connections?: number;
  /** Memory that the process may have: below it, the sandbox that uses most loses its connections. Default: no limit. */
  memoryBytes?: number;
  /** Longest time for a client to say where it wants to go. Default 5000 ms. */
  peekMs?: number;
  /** Longest time that a connection that is read may take for its next request. Default 120 000 ms. */
  nextRequestMs?: number;
  /** Longest time for a connection to the outside. Default 30 000 ms. */
  dialMs?: number;
  /** Between batches of reports. Default 1000 ms. */
  reportMs?: number;
  /** Longest time for an answer of the server. Default 10 000 ms. */
  answerMs?: number;
  /** Says where an accepted connection comes from and was going, for what is not proxied transparently. */
  endsOf?: (socket: Socket) => FlowEnds | undefined;
  /** Makes connections to the outside. */
  connectTcp?: ConnectTcp;
}

export interface RunningEgress {
  /** Of the listener for connections; undefined when it is none with a port. */
  readonly port: number | undefined;
  /** Of the listeners for queries. */
  readonly dnsPorts: { udp: number | undefined; tcp: number | undefined };
  /** Ends everything, open connections too. */
  close(): Promise<void>;
}

const DEFAULTS = { connectionsPerSandbox: 2_000, connections: 20_000, peekMs: 5_000 };
/** Connections that the kernel has accepted for us. */
const BACKLOG = 4_096;

/** Starts everything that the egress process consists of. */
export async function startEgress(options: StartEgressOptions): Promise<RunningEgress> {
  const { allowRanges = [], reportMs, answerMs } = options;
  const { connectionsPerSandbox, connections, peekMs } = { ...DEFAULTS, ...options };
  const registry = new Registry({ allowRanges });
  const reports = new Reports();
  const questions = new Questions(answerMs === undefined ? {} : { answerMs });
  const names = new Names(questions);
  const dialer = new Dialer(new NameResolver(names), {
    ...options,
    // A connection whose requests name several hosts has one for each.
    perSandbox: connectionsPerSandbox * 2,
  });
  const relay = new Http1Relay({ nextRequestMs: options.nextRequestMs });
  const interceptor = new Interceptor({ dialer, relay, questions });
  const memory = new MemoryGuard({
    limitBytes: options.memoryBytes ?? Number.POSITIVE_INFINITY,
    registry,
    onCut: (address) => {
      const sandbox = registry.find(address)?.sandbox;
      if (sandbox !== undefined)
        reports.record(sandbox, { port: 0, outcome: 'failed', rule: 'memory limit' });
    },
  });
  const flows = new FlowServer({
    memory,
    registry,
    reports,
    dialer,
    relay,
    interceptor,
    limits: { perSandbox: connectionsPerSandbox, total: connections, peekMs },
  });
  const endsOf = options.endsOf ?? transparentEnds;
  const open = new Set<{ destroy(): void }>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    const ends = endsOf(socket);
    if (ends === undefined) return void socket.destroy();
    keep(socket);
    flows.serve(socket, ends);
  });
  const control = serveControl(
    {
      set: (sandbox) => registry.set(sandbox),
      keep: (ids) => registry.keep(ids),
      remove: (id) => registry.remove(id),
      setAuthority: (authority, extraRoots) => interceptor.setAuthority(authority, extraRoots),
      takeReports: () => reports.take(),
    },
    questions,
    reportMs === undefined ? {} : { reportMs },
  );
  control.on('connection', keep);
  const forwarder = new DnsForwarder({ registry, reports, names });
  const onQueries = dnsConnections(forwarder, registry);
  const dnsTcp = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    keep(socket);
    onQueries(socket, endsOf(socket)?.source ?? '');
  });
  const dnsUdp = createSocket('udp4');
  serveUdp(dnsUdp, forwarder);
  const servers = [server, control];
  memory.start();
  await Promise.all([listen(server, options.listen), listen(control, options.control)]);
  if (options.dnsTcp !== undefined) {
    await listen(dnsTcp, options.dnsTcp);
    servers.push(dnsTcp);
  }
  if (options.dnsUdp !== undefined) await bind(dnsUdp, options.dnsUdp);
  return {
    port: portOf(server),
    dnsPorts: {
      udp: options.dnsUdp === undefined ? undefined : dnsUdp.address().port,
      tcp: portOf(dnsTcp),
    },
    close: async () => {
      const closed = servers.map((each) => new Promise((resolve) => each.close(resolve)));
      memory.stop();
      dnsUdp.close();
      for (const socket of open) socket.destroy();
      await Promise.all(closed);
    },
  };
}

function transparentEnds(socket: Socket): FlowEnds | undefined {
  const { remoteAddress, localAddress, localPort } = socket;
  if (remoteAddress === undefined || localAddress === undefined || localPort === undefined) return undefined;
  return { source: remoteAddress, address: localAddress, port: localPort };
}

function listen(server: Server, where: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function bind(socket: UdpSocket, where: { host: string; port: number } | { fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    const bound = () => {
      socket.off('error', reject);
      resolve();
    };
    if ('fd' in where) socket.bind(where, bound);
    else socket.bind(where.port, where.host, bound);
  });
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
