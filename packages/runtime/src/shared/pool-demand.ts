/** The time for which a busy moment is remembered, ms. */
const REMEMBERED_MS = 600_000;
/** The time after the beginning of a busy moment within which requests belong to it, ms: of one moment only its peak counts. */
const MOMENT_MS = 10_000;

/**
 * Follows how many of a kind are asked for. A pooled item is away from when it is taken until the next one is made, so what
 * matters is how many are away at once: the busiest moment says how many pooled items would have sufficed.
 */
export class PoolDemand {
  /** Peaks of moments that are over, the oldest first. */
  readonly #peaks: { at: number; peak: number }[] = [];
  #moment: { since: number; peak: number } | undefined;
  #away = 0;
  #lastAt = 0;

  /** When something was asked for last, ms. */
  get lastAt(): number {
    return this.#lastAt;
  }

  /**
   * Counts one that is asked for.
   * @param now ms of a clock that never goes back.
   * @param makeMs how long the next one takes to make.
   */
  note(now: number, makeMs: number): void {
    this.#away = Math.max(0, this.#away - (now - this.#lastAt) / makeMs) + 1;
    this.#lastAt = now;
    if (this.#moment !== undefined && now - this.#moment.since >= MOMENT_MS) {
      this.#peaks.push({ at: this.#moment.since, peak: this.#moment.peak });
      this.#moment = undefined;
    }
    this.#moment ??= { since: now, peak: 0 };
    this.#moment.peak = Math.max(this.#moment.peak, Math.ceil(this.#away));
  }

  /**
   * The desired number: what the second busiest moment of the last ten minutes took. A single busy moment is no sign that it
   * comes again.
   */
  wanted(now: number): number {
    while (this.#peaks[0] !== undefined && now - this.#peaks[0].at > REMEMBERED_MS) this.#peaks.shift();
    if (this.#moment !== undefined && now - this.#moment.since > REMEMBERED_MS) this.#moment = undefined;
    const peaks = this.#peaks.map(({ peak }) => peak);
    if (this.#moment !== undefined) peaks.push(this.#moment.peak);
    return peaks.sort((a, b) => b - a)[1] ?? 0;
  }
}

/**
 * The desired number of each kind: the minimum of each regardless of room; beyond that the wanted number, the modest kinds
 * first, so that a busy one leaves something to the others.
 * @param room items of all kinds together.
 * @returns sizes in the order of `kinds`.
 */
export function poolSizes(kinds: readonly { least: number; wanted: number }[], room: number): number[] {
  let left = room - kinds.reduce((sum, { least }) => sum + least, 0);
  const sizes = kinds.map(({ least }) => least);
  const beyond = kinds
    .map(({ least, wanted }, index) => ({ index, more: wanted - least }))
    .filter(({ more }) => more > 0)
    .sort((a, b) => a.more - b.more);
  for (const { index, more } of beyond) {
    const given = Math.max(0, Math.min(more, left));
    sizes[index]! += given;
    left -= given;
  }
  return sizes;
}
