/** Demand on one node: requests a second, by group of routes and team. */
export type Demand = Record<string, number>;

/** The part of the limit that all nodes together keep for nodes without demand, so that a first request passes on any node. */
const SPARE = 0.05;
/** Most groups and teams in the report of a node, those with the highest demand: its heartbeat stays small. */
const MOST_TOLD = 500;

/**
 * The part of a limit that one node may give: by what it is asked for, of what all are asked for. The parts of all nodes are 1
 * together. Pure.
 * @param demands of all nodes that live, requests a second, this one among them
 */
export function shareOf(own: number, demands: readonly number[], rate: number): number {
  const spare = (rate * SPARE) / demands.length;
  const all = demands.reduce((sum, demand) => sum + demand + spare, 0);
  return (own + spare) / all;
}

/**
 * Computes the share of each team's rate that this node may give, from the demand in the heartbeats of all nodes. Nothing of that is on
 * the way of a request.
 *
 * A share that falls does so at once, and one that rises a heartbeat later, when the others have read what it rises for: so that
 * all together hardly give more than the limit while demand moves from one node to another.
 */
export class RateShares {
  readonly #rateOf: (key: string) => number;
  #asked = new Map<string, number>();
  #now = new Shares([], 0, () => 0);
  #before = this.#now;

  /** @param rateOf the limit of a group, by a key of it */
  constructor(rateOf: (key: string) => number) {
    this.#rateOf = rateOf;
  }

  /** Counts a request, whether it is allowed or not. */
  count(key: string): void {
    this.#asked.set(key, (this.#asked.get(key) ?? 0) + 1);
  }

  /** From 0 to 1. */
  of(key: string): number {
    return Math.min(this.#now.of(key), this.#before.of(key));
  }

  /** Returns the demand on this node since the last call. @param elapsedMs time since then */
  takeDemand(elapsedMs: number): Demand {
    const asked = [...this.#asked].sort(([, a], [, b]) => b - a).slice(0, MOST_TOLD);
    this.#asked = new Map();
    const perSecond = (count: number) => Math.round((count * 10_000) / Math.max(1, elapsedMs)) / 10;
    return Object.fromEntries(asked.map(([key, count]) => [key, perSecond(count)]));
  }

  /** Takes over what all nodes that live were asked for. @param own index of this node */
  update(demands: readonly Demand[], own: number): void {
    this.#before = this.#now;
    this.#now = new Shares(demands, own, this.#rateOf);
    if (this.#before.nodes === 0) this.#before = this.#now;
  }
}

/** The demand in one reading of the heartbeats. */
class Shares {
  readonly nodes: number;
  readonly #byKey = new Map<string, number>();

  constructor(demands: readonly Demand[], own: number, rateOf: (key: string) => number) {
    this.nodes = demands.length;
    for (const key of new Set(demands.flatMap((demand) => Object.keys(demand)))) {
      const each = demands.map((demand) => demand[key] ?? 0);
      this.#byKey.set(key, shareOf(each[own] ?? 0, each, rateOf(key)));
    }
  }

  /** The share of each node in a rate without demand. */
  of(key: string): number {
    return this.#byKey.get(key) ?? 1 / Math.max(1, this.nodes);
  }
}
