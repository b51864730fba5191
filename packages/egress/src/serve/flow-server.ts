import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { splitAuthority } from '@svc/network-policy';
import type { Dialer } from '../dial/dialer.js';
import { describeFailure } from '../failures/dial-error.js';
import { reset } from '../failures/reset.js';
import { DirectReads, LargeBuffers } from '../flows/direct-reads.js';
import { type Admission, Flow, type FlowEnds } from '../flows/flow.js';
import { join } from '../flows/join.js';
import { targetOf } from '../flows/target.js';
import { plainConnection } from '../http/plain-connection.js';
import type { Http1Relay } from '../http/relay-http1.js';
import type { Interceptor } from '../intercept/interceptor.js';
import { Pacer } from '../limits/pacer.js';
import { readClientHello } from '../peek/client-hello.js';
import { peek } from '../peek/peek.js';
import { readRequestLine } from '../peek/request-line.js';
import type { MemoryGuard } from '../sandboxes/memory-guard.js';
import type { Registry } from '../sandboxes/registry.js';
import type { Reports } from '../sandboxes/reports.js';

export interface FlowLimits {
  /** Connections of one sandbox, while there are many free ones. */
  perSandbox: number;
  /** Connections of all. */
  total: number;
  /** Longest time for a client to say where it wants to go, ms. After that only addresses count. */
  peekMs: number;
}

export interface FlowServerOptions {
  registry: Registry;
  reports: Reports;
  dialer: Dialer;
  relay: Http1Relay;
  interceptor: Interceptor;
  limits: FlowLimits;
  memory: MemoryGuard;
}

/**
 * Returns how many connections one sandbox may have while so many are open: half of the free ones, so that some are left for the
 * next client, however many sandboxes take all that they may.
 */
export function shareOf({ perSandbox, total }: FlowLimits, open: number): number {
  return Math.min(perSandbox, Math.floor((total - open) / 2));
}

/** New connections of one sandbox: more than programs make, and half of what the process can accept. */
const RATE = { burst: 1_000, perSecond: 1_200 };
const PEEK_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 60_000;

/** Serves connections of sandboxes: decides about each, and passes on what is allowed. */
export class FlowServer {
  readonly #options: FlowServerOptions;
  readonly #largeBuffers = new LargeBuffers();
  readonly #pacer = new Pacer(RATE);

  constructor(options: FlowServerOptions) {
    this.#options = options;
  }

  /** Takes a connection over. Never throws. */
  serve(socket: Socket, ends: FlowEnds): void {
    // The user of the socket hears of its end too; this keeps an error at any other moment from ending the process.
    socket.on('error', () => undefined);
    const { registry, reports, limits, memory } = this.#options;
    const known = registry.find(ends.source);
    if (known?.policy === undefined) {
      reset(socket);
      return;
    }
    const many = registry.flowsOf(ends.source) >= shareOf(limits, registry.openFlows);
    if (many || !memory.admits(ends.source)) {
      const { address, port } = ends;
      const rule = many ? 'connection limit' : 'memory limit';
      reports.record(known.sandbox, { address, port, outcome: 'denied', rule });
      reset(socket);
      return;
    }
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const flow = new Flow(socket, ends, known, registry, reports);
    this.#paced(flow).catch(() => flow.cut());
  }

  /** One that makes connections as fast as it can leaves time for others: it is not looked at before its turn. */
  async #paced(flow: Flow): Promise<void> {
    const waitMs = this.#pacer.take(flow.ends.source);
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: flow.signal });
    await this.#route(flow);
  }

  async #route(flow: Flow): Promise<void> {
    const { address, port } = flow.ends;
    // A connection that is denied for every host is not read.
    const denied = flow.known.policy?.deniedAfterDns(address);
    if (denied !== undefined) flow.admit(undefined);
    else if (port === 443) await this.#tls(flow);
    else if (port === 80) await this.#http(flow);
    else await this.#pass(flow, flow.admit(undefined, { unread: true }));
  }

  async #tls(flow: Flow): Promise<void> {
    const seen = await peek(flow.socket, readClientHello, this.#peekLimits());
    const hello = seen?.state === 'read' ? seen.hello : undefined;
    const admission = flow.admit(hello?.host, { unread: true });
    if (hello !== undefined && admission?.transform !== undefined)
      await this.#options.interceptor.accept(flow, hello, admission);
    else await this.#pass(flow, admission);
  }

  async #http(flow: Flow): Promise<void> {
    const seen = await peek(flow.socket, readRequestLine, this.#peekLimits());
    if (seen?.state === 'read' && flow.known.policy?.readsHosts === true) {
      const { relay, dialer } = this.#options;
      relay.accept(flow.socket, plainConnection(flow, dialer));
      return;
    }
    const host = seen?.state === 'read' ? splitAuthority(seen.host ?? '')?.host : undefined;
    await this.#pass(flow, flow.admit(host, { unread: true }));
  }

  async #pass(flow: Flow, admission: Admission | undefined): Promise<void> {
    if (admission === undefined) return;
    const { known, socket } = flow;
    const proxied = known.policy?.policy.proxy !== undefined;
    const reads = proxied ? undefined : new DirectReads(socket, this.#largeBuffers, known.sandbox.id);
    let upstream: Socket;
    try {
      upstream = await this.#options.dialer.dial(known, targetOf(flow, admission), reads?.onread);
    } catch (error) {
      flow.fail(describeFailure(error));
      flow.cut();
      return;
    }
    if (flow.signal.aborted) upstream.destroy();
    else join(socket, upstream, reads && ((from) => reads.begin(from)));
  }

  #peekLimits() {
    return { bytes: PEEK_BYTES, ms: this.#options.limits.peekMs };
  }
}
