import { type CompiledPolicy, compilePolicy, type EgressOptions, parseAddress } from '@svc/network-policy';
import type { EgressSandbox } from '../control/types.js';

/** A connection that is open, as the registry sees it. */
export interface OpenFlow {
  /** Returns true when it may stay under the present policy of its sandbox. */
  stays(sandbox: KnownSandbox): boolean;
  /** Ends it at once, so that the program notices. */
  cut(): void;
  /** About how much of this process's memory it takes. */
  readonly heldBytes: number;
}

/** A sandbox that the server named. */
export interface KnownSandbox {
  readonly sandbox: EgressSandbox;
  /** Undefined where the kernel forwards. */
  readonly policy: CompiledPolicy | undefined;
}

/** The sandboxes that may connect, by address, and the flows that each has open. */
export class Registry {
  readonly #byId = new Map<string, KnownSandbox>();
  readonly #byAddress = new Map<string, KnownSandbox>();
  /** By address, so that flows of an earlier user of the address are found too. */
  readonly #flows = new Map<string, Set<OpenFlow>>();
  readonly #options: EgressOptions;
  #openFlows = 0;

  constructor(options: EgressOptions) {
    this.#options = options;
  }

  find(address: string): KnownSandbox | undefined {
    return this.#byAddress.get(address);
  }

  /** The number of open flows: of all, and of one address. */
  get openFlows(): number {
    return this.#openFlows;
  }

  flowsOf(address: string): number {
    return this.#flows.get(address)?.size ?? 0;
  }

  /** @returns what takes the flow out again */
  add(address: string, flow: OpenFlow): () => void {
    const flows = this.#flows.get(address) ?? new Set();
    this.#flows.set(address, flows.add(flow));
    this.#openFlows += 1;
    return () => {
      if (!flows.delete(flow)) return;
      this.#openFlows -= 1;
      if (flows.size === 0 && this.#flows.get(address) === flows) this.#flows.delete(address);
    };
  }

  /** The address whose flows hold most memory together; undefined while none is open. */
  heaviest(): string | undefined {
    let heaviest: string | undefined;
    let most = 0;
    for (const [address, flows] of this.#flows) {
      let held = 0;
      for (const flow of flows) held += flow.heldBytes;
      if (held > most) [heaviest, most] = [address, held];
    }
    return heaviest;
  }

  /** Ends all flows of an address. */
  cut(address: string): void {
    for (const flow of [...(this.#flows.get(address) ?? [])]) flow.cut();
  }

  /** @throws {TypeError} for a policy or address that cannot be read; the sandbox is not known any more then, and sends nothing */
  set(sandbox: EgressSandbox): void {
    let known: KnownSandbox;
    try {
      known = this.#read(sandbox);
    } catch (error) {
      this.remove(sandbox.id);
      throw error;
    }
    this.#put(known);
  }

  /** Forgets all others. */
  keep(ids: readonly string[]): void {
    const kept = new Set(ids);
    for (const id of [...this.#byId.keys()]) if (!kept.has(id)) this.remove(id);
  }

  remove(id: string): void {
    const known = this.#byId.get(id);
    if (known === undefined) return;
    this.#byId.delete(id);
    this.#release(known);
  }

  #read(sandbox: EgressSandbox): KnownSandbox {
    if (sandbox.id === '' || parseAddress(sandbox.address) === undefined)
      throw new TypeError(`'${sandbox.address}' is not the address of a sandbox`);
    const { policy } = sandbox;
    return { sandbox, policy: policy && compilePolicy(policy, this.#options) };
  }

  #put(known: KnownSandbox): void {
    const { id, address } = known.sandbox;
    const before = this.#byId.get(id);
    if (before !== undefined && before.sandbox.address !== address) this.#release(before);
    const other = this.#byAddress.get(address);
    // An address that another one had has changed hands: nothing of that one may continue.
    if (other !== undefined && other.sandbox.id !== id) this.remove(other.sandbox.id);
    this.#byId.set(id, known);
    this.#byAddress.set(address, known);
    for (const flow of [...(this.#flows.get(address) ?? [])]) if (!flow.stays(known)) flow.cut();
  }

  #release(known: KnownSandbox): void {
    const { address } = known.sandbox;
    if (this.#byAddress.get(address) === known) this.#byAddress.delete(address);
    this.cut(address);
  }
}
