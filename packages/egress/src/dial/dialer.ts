import type { OnReadOpts, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { parseHost } from '@svc/network-policy';
import type { NameResolver } from '../dns/resolve-name.js';
import { DialError } from '../failures/dial-error.js';
import { Counts } from '../limits/counts.js';
import type { KnownSandbox } from '../sandboxes/registry.js';
import { type ConnectTcp, connectTcp } from './connect-tcp.js';
import { connectThroughProxy } from './through-proxy.js';

/** Where to connect to for a sandbox. */
export interface DialTarget {
  /** The name, when it is the name that was allowed. */
  name?: string;
  /** The address that the sandbox chose. */
  address: string;
  port: number;
}

export interface DialerOptions {
  /** Connections of one sandbox, those that are being made too. */
  perSandbox: number;
  /** Longest time for one connection. Default 30 000 ms. */
  dialMs?: number;
  connectTcp?: ConnectTcp;
}

const DIAL_MS = 30_000;
/** Addresses of one name that are tried. */
const MAX_ADDRESSES = 4;

/** Opens connections to the outside, for sandboxes that may. */
export class Dialer {
  readonly #resolver: NameResolver;
  readonly #dialMs: number;

  readonly #perSandbox: number;
  readonly #open = new Counts();
  readonly #connect: ConnectTcp;

  constructor(resolver: NameResolver, options: DialerOptions) {
    this.#resolver = resolver;
    this.#dialMs = options.dialMs ?? DIAL_MS;
    this.#perSandbox = options.perSandbox;
    this.#connect = options.connectTcp ?? connectTcp;
  }

  /**
   * Connects within 30 s, directly or through the sandbox's proxy and then never directly.
   * @param onread as `ConnectTcp` takes it; without effect through a proxy
   * @throws {Error} see `describeFailure`
   */
  async dial(known: KnownSandbox, target: DialTarget, onread?: OnReadOpts): Promise<Socket | TLSSocket> {
    if (this.#open.of(known.sandbox.id) >= this.#perSandbox) throw new DialError('connection limit');
    const leave = this.#open.add(known.sandbox.id);
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(new DialError('connect timeout')), this.#dialMs);
    try {
      const socket = await this.#anyWay(known, target, timer.signal, onread);
      socket.once('close', leave);
      if (socket.closed) leave();
      return socket;
    } catch (error) {
      leave();
      throw error;
    } finally {
      clearTimeout(timeout);
    }
  }

  #anyWay(
    known: KnownSandbox,
    target: DialTarget,
    signal: AbortSignal,
    onread: OnReadOpts | undefined,
  ): Promise<Socket | TLSSocket> {
    const proxy = known.policy?.policy.proxy;
    if (proxy === undefined) return this.#direct(known, target, signal, onread);
    return connectThroughProxy(
      proxy,
      { host: target.name ?? target.address, port: target.port },
      (host, port) => this.#toHost(known, host, port, signal),
      signal,
    );
  }

  #direct(
    known: KnownSandbox,
    target: DialTarget,
    signal: AbortSignal,
    onread: OnReadOpts | undefined,
  ): Promise<Socket> {
    const { name, address, port } = target;
    if (name !== undefined) return this.#toName(known, name, port, signal, onread);
    return this.#toAddress(known, address, port, signal, onread);
  }

  #toHost(known: KnownSandbox, text: string, port: number, signal: AbortSignal): Promise<Socket> {
    const host = parseHost(text);
    if (host === undefined) throw new DialError('not a host');
    return host.kind === 'name'
      ? this.#toName(known, host.name, port, signal)
      : this.#toAddress(known, text.replace(/^\[|\]$/g, ''), port, signal);
  }

  #toAddress(
    known: KnownSandbox,
    address: string,
    port: number,
    signal: AbortSignal,
    onread?: OnReadOpts,
  ): Promise<Socket> {
    const denied = known.policy?.deniedAfterDns(address);
    if (denied !== undefined) throw new DialError(`private range ${denied}`);
    return this.#connect(address, port, signal, onread);
  }

  async #toName(
    known: KnownSandbox,
    name: string,
    port: number,
    signal: AbortSignal,
    onread?: OnReadOpts,
  ): Promise<Socket> {
    const addresses = await this.#resolver.resolve(known.sandbox, name, signal);
    let failure: unknown = new DialError('name has no address');
    for (const address of addresses.slice(0, MAX_ADDRESSES)) {
      try {
        return await this.#toAddress(known, address, port, signal, onread);
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error;
      }
    }
    throw failure;
  }
}
