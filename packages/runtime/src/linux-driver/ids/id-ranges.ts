import { DriverError } from '../../contract/errors.js';

/** User and group ids that one instance has. */
export const IDS = 65_536;

/** A block of host ids, cut into ranges. A range is named by its first id. */
export class IdRanges {
  readonly #first: number;
  readonly #count: number;
  readonly #used = new Set<number>();
  #next = 0;

  /** @param first id of the block. @param count how many ranges are in it. */
  constructor(first: number, count: number) {
    this.#first = first;
    this.#count = count;
  }

  /** Takes a free range. One that was given back comes again as late as can be. @throws {DriverError} `no_capacity` */
  take(): number {
    for (let tried = 0; tried < this.#count; tried += 1) {
      const first = this.#first + this.#next * IDS;
      this.#next = (this.#next + 1) % this.#count;
      if (this.#used.has(first)) continue;
      this.#used.add(first);
      return first;
    }
    throw new DriverError('no_capacity', 'All user ids for sandboxes are taken.');
  }

  reserve(first: number): void {
    this.#used.add(first);
  }

  release(first: number | undefined): void {
    if (first !== undefined) this.#used.delete(first);
  }
}
