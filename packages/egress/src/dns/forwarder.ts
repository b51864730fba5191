import { Counts } from '../limits/counts.js';
import type { Registry } from '../sandboxes/registry.js';
import type { Reports } from '../sandboxes/reports.js';
import { emptyReply, isReplyTo, parseQuery, SERVICE_BINDINGS, truncatedReply } from './message.js';
import type { Names } from './names.js';
import { QueryCounter, type QueryRate } from './rate.js';

export interface ForwarderOptions {
  registry: Registry;
  reports: Reports;
  names: Names;
  rate?: QueryRate;
}

const DNS_PORT = 53;
const RATE: QueryRate = { burst: 200, perSecond: 100 };
/** Queries of one sandbox that wait for their answers. */
const MAX_WAITING = 100;
const MAX_QUERY_BYTES = 4_096;

/** Answers queries of sandboxes: by their policies, and then with what the server's resolver says. */
export class DnsForwarder {
  readonly #options: ForwarderOptions;
  readonly #counter: QueryCounter;
  readonly #waiting = new Counts();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#counter = new QueryCounter(options.rate ?? RATE);
  }

  /**
   * Answers a query. Undefined when there is nothing to say: not a query, nobody's, or too many. Never throws.
   * @param udp whether the reply has to fit into a datagram of the size that the client takes
   */
  async answer(source: string, query: Buffer, { udp }: { udp: boolean }): Promise<Buffer | undefined> {
    const { registry, reports } = this.#options;
    const known = registry.find(source);
    const question = query.length > MAX_QUERY_BYTES ? undefined : parseQuery(query);
    if (known === undefined || question === undefined) return undefined;
    const { id } = known.sandbox;
    if (this.#waiting.of(id) >= MAX_WAITING || !this.#counter.admit(id)) return undefined;
    if (known.policy !== undefined) {
      const { allowed, rule } = known.policy.decideName(question.name);
      if (!allowed) {
        reports.record(known.sandbox, { host: question.name, port: DNS_PORT, outcome: 'denied', rule });
        return emptyReply(query, question, 'refused');
      }
      // Without the keys that hide names in TLS, clients show where they connect to, as the policy needs.
      if (SERVICE_BINDINGS.has(question.type)) return emptyReply(query, question, 'ok');
    }
    const leave = this.#waiting.add(id);
    try {
      const reply = await this.#options.names.ask(known.sandbox, query);
      if (!isReplyTo(reply, question)) return emptyReply(query, question, 'failed');
      return udp && reply.length > question.maxUdpBytes ? truncatedReply(query, question) : reply;
    } catch {
      return emptyReply(query, question, 'failed');
    } finally {
      leave();
    }
  }
}
