import type { Socket } from 'node:net';
import { type EgressDecision, type EgressFlow, parseHost } from '@svc/network-policy';
import type { EgressSandbox } from '../control/types.js';
import { reset } from '../failures/reset.js';
import type { KnownSandbox, OpenFlow, Registry } from '../sandboxes/registry.js';
import type { Attempt, ByteCounts, Reports } from '../sandboxes/reports.js';

/** Memory of a connection and the one to the outside while nothing waits in them. */
const EACH_BYTES = 32 * 1024;

/** Where a connection comes from and was going. */
export interface FlowEnds {
  /** Address of the sandbox. */
  source: string;
  address: string;
  port: number;
}

/** The parts of a decision that have to stay the same for a flow to continue. */
interface Standing {
  target: EgressFlow;
  transform: string | undefined;
  proxy: string;
  /** True when its bytes pass unread, so that later requests cannot be judged by their host. */
  unread: boolean;
}

/** A decision that allows. */
export type Admission = EgressDecision & { host: string | undefined };

/** One connection of a sandbox, from its acceptance to its end. */
export class Flow implements OpenFlow {
  readonly socket: Socket;
  readonly ends: FlowEnds;
  /** Aborts when the connection is over. */
  readonly signal: AbortSignal;
  readonly #reports: Reports;
  readonly #over = new AbortController();
  #known: KnownSandbox;
  #standing: Standing | undefined;
  #bytes: ByteCounts;
  #counting: { sandbox: EgressSandbox; attempt: Attempt } | undefined;

  constructor(socket: Socket, ends: FlowEnds, known: KnownSandbox, registry: Registry, reports: Reports) {
    this.socket = socket;
    this.ends = ends;
    this.signal = this.#over.signal;
    this.#bytes = socket;
    this.#known = known;
    this.#reports = reports;
    const forget = registry.add(ends.source, this);
    socket.once('close', () => {
      forget();
      reports.finish(this.#bytes);
      this.#over.abort();
    });
  }

  /** The sandbox as it is known now. */
  get known(): KnownSandbox {
    return this.#known;
  }

  /**
   * Decides about what this connection wants now, and reports it.
   * @param said the host, as the client wrote it; what is no name counts as none
   * @param unread whether its bytes will pass without being looked at
   * @returns undefined when it is denied: the connection is cut then
   */
  admit(said: string | undefined, { unread = false } = {}): Admission | undefined {
    const { policy, sandbox } = this.#known;
    const parsed = said === undefined ? undefined : parseHost(said);
    const host = parsed?.kind === 'name' ? parsed.name : undefined;
    const { address, port } = this.ends;
    const target: EgressFlow = { address, port, ...(host === undefined ? {} : { host }) };
    const decision = policy?.decide(target);
    if (decision?.allowed !== true) {
      this.#reports.record(sandbox, { ...target, outcome: 'denied', rule: decision?.rule ?? 'no policy' });
      this.cut();
      return undefined;
    }
    this.#standing = {
      target,
      transform: decision.transform,
      proxy: proxyOf(this.#known),
      unread,
    };
    const attempt: Attempt = { ...target, outcome: 'allowed', rule: decision.rule };
    this.#reports.record(sandbox, attempt);
    this.#counting = { sandbox, attempt };
    this.#reports.count(sandbox, attempt, this.#bytes);
    return { ...decision, host };
  }

  /** Counts bytes in another place from now on: what opens a connection takes its bytes past the socket. */
  countAt(bytes: ByteCounts): void {
    this.#reports.finish(this.#bytes);
    this.#bytes = bytes;
    if (this.#counting !== undefined)
      this.#reports.count(this.#counting.sandbox, this.#counting.attempt, bytes);
  }

  /** Reports that nothing came of what was allowed. */
  fail(rule: string): void {
    const target = this.#standing?.target ?? this.ends;
    const { address, port } = target;
    const host = 'host' in target ? target.host : undefined;
    this.#reports.record(this.#known.sandbox, {
      address,
      port,
      outcome: 'failed',
      rule,
      ...(host === undefined ? {} : { host }),
    });
  }

  stays(known: KnownSandbox): boolean {
    if (known.sandbox.id !== this.#known.sandbox.id) return false;
    const standing = this.#standing;
    if (standing !== undefined) {
      if (standing.proxy !== proxyOf(known)) return false;
      if (known.policy !== undefined) {
        const { host, ...blind } = standing.target;
        const judged =
          standing.unread && known.policy.readsHosts && blind.port === 80
            ? blind
            : { ...blind, ...(host === undefined ? {} : { host }) };
        const decision = known.policy.decide(judged);
        if (!decision.allowed || decision.transform !== standing.transform) return false;
      }
    }
    this.#known = known;
    return true;
  }

  get heldBytes(): number {
    return EACH_BYTES + this.socket.readableLength + this.socket.writableLength;
  }

  /** Ends the connection with a reset. */
  cut(): void {
    reset(this.socket);
  }
}

function proxyOf({ policy }: KnownSandbox): string {
  return JSON.stringify(policy?.policy.proxy ?? null);
}
