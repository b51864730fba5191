import type { StopReason } from './contract.js';

/** One request or upgraded connection on its way through. */
export interface Exchange {
  readonly sandboxId: string;
  /** Ends it because its sandbox goes away; resolves when the client has got the end. Set once it can be ended. */
  stop: (reason: StopReason) => Promise<void>;
}

/** The open exchanges by sandbox. */
export class Exchanges {
  readonly #bySandbox = new Map<string, Set<Exchange>>();

  /** Registers an exchange, or returns undefined when the sandbox has `limit` of them. */
  open(sandboxId: string, limit: number): Exchange | undefined {
    let open = this.#bySandbox.get(sandboxId);
    if ((open?.size ?? 0) >= limit) return undefined;
    if (!open) {
      open = new Set();
      this.#bySandbox.set(sandboxId, open);
    }
    const exchange = { sandboxId, stop: () => Promise.resolve() };
    open.add(exchange);
    return exchange;
  }

  release(exchange: Exchange): void {
    const open = this.#bySandbox.get(exchange.sandboxId);
    if (open?.delete(exchange) && open.size === 0) this.#bySandbox.delete(exchange.sandboxId);
  }

  /** Ends all of one sandbox, or all without an id. */
  async stop(sandboxId: string | undefined, reason: StopReason): Promise<void> {
    const ids = sandboxId === undefined ? [...this.#bySandbox.keys()] : [sandboxId];
    const stopped = ids.flatMap((id) =>
      [...(this.#bySandbox.get(id) ?? [])].map((exchange) => exchange.stop(reason)),
    );
    await Promise.all(stopped);
  }
}
