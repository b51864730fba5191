import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { parseHost } from '@svc/network-policy';
import type { Questions } from '../control/questions.js';
import type { EgressAuthority } from '../control/types.js';
import type { Dialer } from '../dial/dialer.js';
import { DialError, describeFailure } from '../failures/dial-error.js';
import type { Admission, Flow } from '../flows/flow.js';
import { targetOf } from '../flows/target.js';
import type { HttpConnection } from '../http/exchange.js';
import type { Http1Relay } from '../http/relay-http1.js';
import { relayHttp2 } from '../http/relay-http2.js';
import { Counts } from '../limits/counts.js';
import type { ClientHello } from '../peek/client-hello.js';
import { LeafCertificates } from './leaf-certificates.js';
import { resolveHeaders } from './resolve-headers.js';
import { BUFFERED, UpstreamTls } from './upstream-tls.js';

const UNRESOLVED = 'A header of this request could not be resolved. It was not sent.\n';
const PROTOCOLS = ['h2', 'http/1.1'];
/** Connections of one sandbox over HTTP/2, each of which may keep a megabyte or two here. Others get HTTP/1.1. */
const MAX_HTTP2 = 100;
const HANDSHAKE_MS = 30_000;

/** Opens the TLS of hosts that have rules, to set headers of their requests. */
export class Interceptor {
  readonly #dialer: Dialer;
  readonly #relay: Http1Relay;
  readonly #questions: Questions;
  #certificates: LeafCertificates | undefined;
  #tls = new UpstreamTls();
  readonly #http2 = new Counts();

  constructor(parts: { dialer: Dialer; relay: Http1Relay; questions: Questions }) {
    this.#dialer = parts.dialer;
    this.#relay = parts.relay;
    this.#questions = parts.questions;
  }

  /** @throws {TypeError} when something cannot be read; nothing is changed then */
  setAuthority(authority: EgressAuthority | undefined, extraRoots: string): void {
    const tls = new UpstreamTls(extraRoots);
    this.#certificates = authority && new LeafCertificates(authority);
    this.#tls = tls;
  }

  /**
   * Takes a connection over whose ClientHello is still to be read. The server is connected to first, so that the client
   * gets the protocol that the server speaks, and no connection when the server is not who it should be.
   */
  async accept(flow: Flow, hello: ClientHello, admission: Admission): Promise<void> {
    const { host } = admission;
    try {
      if (host === undefined || this.#certificates === undefined)
        throw new DialError('no certificate authority');
      const { id } = flow.known.sandbox;
      const known = PROTOCOLS.slice(this.#http2.of(id) < MAX_HTTP2 ? 0 : 1);
      const offered = known.filter((each) => hello.protocols.includes(each));
      if (offered.length === 0 && hello.protocols.includes('h2')) throw new DialError('connection limit');
      // Taken before anything is waited for, so that many at once are no more than may be.
      const leave = offered.includes('h2') ? this.#http2.add(id) : undefined;
      flow.signal.addEventListener('abort', () => leave?.());
      const context = this.#certificates.contextFor(host);
      context.catch(() => undefined);
      const upstream = await this.#open(flow, admission, host, offered);
      endTogether(flow, upstream);
      if (flow.signal.aborted) return;
      const protocol = upstream.alpnProtocol || (offered.includes('http/1.1') ? 'http/1.1' : undefined);
      if (protocol !== 'h2') leave?.();
      const client = terminate(flow, await context, protocol);
      if (protocol === 'h2') {
        await secured(client);
        const bytes = { bytesRead: 0, bytesWritten: 0 };
        flow.countAt(bytes);
        relayHttp2({ client, upstream, connection: this.#connection(flow, host, upstream), bytes });
      } else {
        flow.countAt(client);
        this.#relay.accept(client, this.#connection(flow, host, upstream));
      }
    } catch (error) {
      flow.fail(describeFailure(error));
      flow.cut();
    }
  }

  async #open(
    flow: Flow,
    admission: Admission,
    host: string,
    protocols: readonly string[],
  ): Promise<TLSSocket> {
    return this.#tls.secure(await this.#dialer.dial(flow.known, targetOf(flow, admission)), host, protocols);
  }

  /** @param first the connection that was made already, for the first request */
  #connection(flow: Flow, host: string, first: TLSSocket): HttpConnection {
    let ready: TLSSocket | undefined = first;
    return {
      plan: async (request) => {
        const asked = request.host === undefined ? undefined : parseHost(request.host);
        // Headers are for the host whose certificate was verified. A request for another one does not get them.
        if (asked?.kind !== 'name' || asked.name !== host)
          return { kind: 'answer', status: 421, text: `This connection is for ${host} alone.\n` };
        const admission = flow.admit(host);
        if (admission === undefined) return { kind: 'cut' };
        const rule = flow.known.policy?.policy.rules[admission.transform ?? ''];
        if (rule === undefined) return { kind: 'cut' };
        // It would send the headers back.
        if (request.method === 'TRACE')
          return { kind: 'answer', status: 405, text: 'TRACE is not passed on.\n' };
        try {
          const about = { sandbox: flow.known.sandbox, host, questions: this.#questions };
          return {
            kind: 'forward',
            key: host,
            set: await resolveHeaders(rule.headers, about),
            open: async () => {
              const made = ready;
              ready = undefined;
              if (made !== undefined && !made.destroyed) return made;
              const again = await this.#open(flow, admission, host, ['http/1.1']);
              endTogether(flow, again);
              return again;
            },
          };
        } catch {
          flow.fail('placeholder not resolved');
          return { kind: 'answer', status: 502, text: UNRESOLVED };
        }
      },
      fail: (error) => flow.fail(describeFailure(error)),
      cut: () => flow.cut(),
    };
  }
}

/** Ends a connection with the flow. A flow may use many, one after another, and holds on to none that is over. */
function endTogether(flow: Flow, upstream: TLSSocket): void {
  const end = () => upstream.destroy();
  flow.signal.addEventListener('abort', end);
  upstream.once('close', () => flow.signal.removeEventListener('abort', end));
  if (flow.signal.aborted) end();
}

/** TLS with the client, as the host. */
function terminate(flow: Flow, secureContext: SecureContext, protocol: string | undefined): TLSSocket {
  const client = new TLSSocket(flow.socket as Socket, {
    isServer: true,
    ...BUFFERED,
    secureContext,
    ...(protocol === undefined ? {} : { ALPNProtocols: [protocol] }),
  });
  // A client that ends in the middle of the handshake waits for nothing.
  client.allowHalfOpen = false;
  client.on('error', () => flow.cut());
  const timer = setTimeout(() => flow.cut(), HANDSHAKE_MS);
  client.once('secure', () => clearTimeout(timer));
  client.once('close', () => clearTimeout(timer));
  return client;
}

function secured(client: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    client.once('secure', () => {
      // A TLS server does this; a socket of its own says for ever that it is not connected, and HTTP/2 waits for that.
      Object.assign(client, { secureConnecting: false });
      resolve();
    });
    client.once('close', () => reject(new DialError('the client ended the handshake')));
  });
}
