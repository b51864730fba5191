import type { Registry } from './registry.js';

/** From this share of the memory on, who has many connections gets no more. */
const SCARCE = 0.7;
/** From here on, who holds most loses what it has. */
const SHORT = 0.85;
/** A sandbox with fewer connections than that gets one more, also while memory is scarce. */
const FEW = 16;
const LOOK_MS = 250;
/** Memory that was released returns to the system later: between two cuts, ms. */
const CALM_MS = 5_000;

export interface MemoryGuardOptions {
  /** Most memory of the process. */
  limitBytes: number;
  registry: Registry;
  /** Called with a sandbox's address that lost its connections. */
  onCut: (address: string) => void;
  /** Default: what the process has. */
  usedBytes?: () => number;
}

/**
 * Keeps the memory of all connections together below what the process may have. The kernel would end the process
 * otherwise, and the connections of everybody with it; so it is those of who holds most.
 */
export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  #scarce = false;
  #calmUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(performance.now()), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns true when a sandbox may have one more connection. */
  admits(address: string): boolean {
    return !this.#scarce || this.#options.registry.flowsOf(address) < FEW;
  }

  /** @param now ms, of a clock that never goes back */
  look(now: number): void {
    const { limitBytes, registry, onCut, usedBytes = process.memoryUsage.rss } = this.#options;
    const used = usedBytes() / limitBytes;
    this.#scarce = used >= SCARCE;
    if (used < SHORT || now < this.#calmUntil) return;
    const address = registry.heaviest();
    if (address === undefined) return;
    this.#calmUntil = now + CALM_MS;
    onCut(address);
    registry.cut(address);
  }
}
