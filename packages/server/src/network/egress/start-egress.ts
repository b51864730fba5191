import { readFile } from 'node:fs/promises';
import type { EgressHandlers, EgressQuestion, EgressReport } from '@svc/egress';
import { anyOf } from '#support/any-of';
import type { NetworkContext, Uses } from '../context.js';
import type { SandboxEgress } from '../sandbox-egress.js';
import { createDnsForwarder } from './dns.js';
import { EgressLink } from './egress-link.js';
import { resolvePlaceholders } from './resolve-placeholders.js';
import type { TrafficCounters } from './traffic.js';

/** Time limit for one question of the egress process, ms. */
const ANSWER_MS = 10_000;
/** Questions of one sandbox that are worked on at once, and that wait. */
const PER_SANDBOX = { atOnce: 32, waiting: 1_000 };

type Ports = Uses<'authority' | 'config' | 'db' | 'ids' | 'identity' | 'keys' | 'log' | 'now'>;

/** Receives what left sandboxes and what they were refused. */
export interface TrafficObserver {
  onSent(instanceId: string, bytes: number): void;
  /** Never rejects. */
  onDenied(reports: readonly EgressReport[]): Promise<void>;
}

/**
 * Begins to rule the egress process of the driver. Without one there is nothing to rule.
 * @param context is called late: it contains what is made here
 * @throws {Error} when the settings of it cannot be used.
 */
export async function startEgress(
  context: () => Ports,
  settings: Pick<NetworkContext['config'], 'egress'>,
  driver: NetworkContext['driver'],
  traffic: TrafficCounters,
  observer: TrafficObserver,
): Promise<SandboxEgress> {
  const { trustedRoots, dns } = settings.egress;
  const extraRoots = trustedRoots === undefined ? '' : await readFile(trustedRoots, 'utf8');
  const forwarder = createDnsForwarder(dns);
  const { egress } = driver;
  if (egress === undefined) return noEgress;
  const handlers = answersTo({
    context,
    resolveDns: forwarder.resolve,
    runOf: (sandboxId, execution) => link.runOf(sandboxId, execution),
    traffic,
    observer,
  });
  const link = new EgressLink({
    connect: async (on, signal) => {
      // Servers of drivers without an egress process do not load what speaks to one.
      const { connectEgress } = await import('@svc/egress');
      return connectEgress(await egress.connect({ signal }), on);
    },
    authority: () => context().authority(),
    extraRoots,
    handlers,
    onProblem: (error, sandboxId) => {
      const { log } = context();
      if (sandboxId === undefined)
        log.warn({ err: error }, 'the egress process is out of reach, will be tried again');
      else
        log.error(
          { err: error, sandboxId },
          'the egress process did not accept the policy of a sandbox: it sends nothing',
        );
    },
  });
  return link;
}

interface AnswersOptions {
  context: () => Ports;
  resolveDns(query: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  runOf: SandboxEgress['runOf'];
  traffic: TrafficCounters;
  observer: TrafficObserver;
}

/**
 * Answers what the egress process asks and takes what it reports. It reads what attackers send and may be in their hands:
 * it is answered for sandboxes that live, so many questions of each at once.
 */
export function answersTo({ context, resolveDns, runOf, traffic, observer }: AnswersOptions): EgressHandlers {
  const lanes = new BoundedWork(PER_SANDBOX);
  const answer = async <T>(
    { sandboxId, execution, signal }: EgressQuestion,
    work: (limit: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    if (runOf(sandboxId, execution) === undefined) throw new Error('there is no such sandbox');
    return lanes.run(sandboxId, () => work(anyOf([signal, AbortSignal.timeout(ANSWER_MS)])));
  };
  return {
    resolveDns: (query, about) => answer(about, (limit) => resolveDns(query, limit)),
    resolvePlaceholders: (placeholders, about) =>
      answer(about, async () => {
        // Its rules may have changed while this waited.
        const { scope } = runOf(about.sandboxId, about.execution) ?? {};
        try {
          if (scope === undefined) throw new Error('the sandbox has no rules');
          return await resolvePlaceholders(context(), scope, placeholders);
        } catch (error) {
          context().log.debug(
            { err: error, sandboxId: about.sandboxId },
            'a placeholder could not be resolved',
          );
          throw error;
        }
      }),
    onReports: (reports) => {
      for (const report of reports) {
        traffic.add(report);
        observer.onSent(report.sandboxId, report.bytesSent);
      }
      void observer.onDenied(reports);
    },
  };
}

/** The enforcement of a driver that carries no traffic of its own. */
const noEgress: SandboxEgress = {
  connected: false,
  refused: new Map(),
  set: () => Promise.resolve(),
  runOf: () => undefined,
  close: () => Promise.resolve(),
};

/** Runs at most so many tasks at once for each key; the others wait in their order. */
class BoundedWork {
  readonly #atOnce: number;
  readonly #waitingMost: number;
  readonly #byKey = new Map<string, { running: number; waiting: (() => void)[] }>();

  constructor(limits: { atOnce: number; waiting: number }) {
    this.#atOnce = limits.atOnce;
    this.#waitingMost = limits.waiting;
  }

  /** @throws {Error} at once when as many wait already as may, and what `work` throws. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    let lane = this.#byKey.get(key);
    if (lane === undefined) {
      lane = { running: 0, waiting: [] };
      this.#byKey.set(key, lane);
    }
    const { waiting } = lane;
    if (lane.running >= this.#atOnce) {
      if (waiting.length >= this.#waitingMost) throw new Error('too much is asked for at once');
      // Work that ends passes its place to the next one.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else lane.running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next !== undefined) next();
      else {
        lane.running -= 1;
        if (lane.running === 0) this.#byKey.delete(key);
      }
    }
  }
}
