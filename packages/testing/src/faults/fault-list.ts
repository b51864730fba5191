import { type OperationName, operationNames } from '../contract/names.js';
import { nearest } from './nearest.js';

/** A failure, and the requests that it is for. A field that is absent limits nothing. */
export interface Fault {
  /** The operation or RPC that it happens to. */
  operation?: OperationName | undefined;
  /** The sandbox that it happens to. */
  sandboxId?: string | undefined;
  /** The command line that it happens to; of `process.Process/Start` alone. */
  command?: string | RegExp | undefined;
  /** Number of failures. Default 1; Infinity for always. */
  times?: number | undefined;
  /** Number of fitting requests that pass unharmed before. Default 0. */
  after?: number | undefined;

  /** The answer comes so much later, ms on the clock of the service. Goes with all others. */
  latencyMs?: number | undefined;
  /** `latencyMs` passes in real time instead. Default false. */
  realTime?: boolean | undefined;
  /** The end of the request's sandbox just before the request arrives. */
  sandbox?: 'killed' | 'paused' | 'crashed' | 'expired' | undefined;
  /** Answers with this status, 400 to 599, and the error record. */
  status?: number | undefined;
  /** Text of the record. */
  message?: string | undefined;
  /** `error_code` of the record. */
  errorCode?: string | undefined;
  /** `Retry-After`, seconds. Default 0 with status 429, else none. */
  retryAfterSeconds?: number | undefined;
  /** `refused`: nothing listens. `reset`: the connection breaks before the answer. */
  connection?: 'refused' | 'reset' | undefined;
  /** With `connection: 'reset'`: the request is carried out, and only its answer is lost. Default false. */
  carriedOut?: boolean | undefined;
  /** The answer breaks off after so many bytes; of a command or terminal, so many bytes of its output. */
  cutAfterBytes?: number | undefined;
  /** With `cutAfterBytes`, of a command: so many bytes of its output after that are lost when a reader comes back. Default 0. */
  loseBytes?: number | undefined;
}

/** A fault that was added. */
export interface AddedFault {
  /** Number of failures so far. */
  readonly count: number;
  /** Takes it back. */
  remove(): void;
}

/** Facts about a request, for the choice of a fault. */
export interface FaultFacts {
  readonly operation: string | undefined;
  readonly sandboxId: string | undefined;
  /** Given where the command line is known. */
  readonly command?: string;
}

const effects = ['latencyMs', 'sandbox', 'status', 'connection', 'cutAfterBytes'] as const;

/** The faults of a test service. The first one added that fits a request happens to it. */
export class FaultList {
  readonly #entries: { readonly fault: Fault; seen: number; count: number }[] = [];

  /**
   * Adds a fault.
   * @throws TypeError for a fault that could never happen: an unknown operation, no effect, numbers out of range
   * @example
   * service.faults.add({ operation: 'createSandboxV2', times: 2, status: 429 });
   */
  add(fault: Fault): AddedFault {
    check(fault);
    const entry = { fault: { ...fault }, seen: 0, count: 0 };
    this.#entries.push(entry);
    return {
      get count() {
        return entry.count;
      },
      remove: () => {
        const index = this.#entries.indexOf(entry);
        if (index >= 0) this.#entries.splice(index, 1);
      },
    };
  }

  /**
   * Takes all faults back.
   * @example
   * service.faults.clear();
   */
  clear(): void {
    this.#entries.length = 0;
  }

  /** @internal The fault that happens to a request; counted. */
  take(facts: FaultFacts): Fault | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry;
      if (!fits(fault, facts) || entry.count >= (fault.times ?? 1)) continue;
      entry.seen += 1;
      if (entry.seen <= (fault.after ?? 0)) continue;
      entry.count += 1;
      return fault;
    }
    return undefined;
  }
}

function fits({ operation, sandboxId, command }: Fault, facts: FaultFacts): boolean {
  if (operation !== undefined && operation !== facts.operation) return false;
  if (sandboxId !== undefined && sandboxId !== facts.sandboxId) return false;
  if (command === undefined) return facts.command === undefined;
  if (facts.command === undefined) return false;
  return typeof command === 'string' ? command === facts.command : facts.command.search(command) >= 0;
}

/** @throws TypeError */
function check(fault: Fault): void {
  const refuse = (text: string) => {
    throw new TypeError(`faults.add: ${text}`);
  };
  const { operation, command, times = 1, after = 0, status, cutAfterBytes, connection } = fault;
  if (operation !== undefined && !operationNames.has(operation))
    refuse(`there is no operation '${operation}'. Did you mean '${nearest(operation, operationNames)}'?`);
  if (effects.every((effect) => fault[effect] === undefined))
    refuse(`nothing goes wrong with it. Give one of ${effects.join(', ')}.`);
  if (command !== undefined && operation !== undefined && operation !== 'process.Process/Start')
    refuse(`'command' goes with operation 'process.Process/Start' alone, not with '${operation}'.`);
  if (!(times >= 1) || !(after >= 0)) refuse(`'times' is at least 1 and 'after' at least 0.`);
  if (status !== undefined && !(status >= 400 && status <= 599))
    refuse(`'status' is from 400 to 599, got ${status}.`);
  if (cutAfterBytes !== undefined && !(cutAfterBytes >= 0)) refuse(`'cutAfterBytes' is at least 0.`);
  if (fault.latencyMs !== undefined && !(fault.latencyMs >= 0)) refuse(`'latencyMs' is at least 0.`);
  if ([status, connection, cutAfterBytes].filter((one) => one !== undefined).length > 1)
    refuse(`only one of 'status', 'connection' and 'cutAfterBytes' can happen to a request.`);
}
