import { openSync } from 'node:fs';

/**
 * The terminals that the daemon holds. Their descriptors stay open across exec, and Node cannot change that, so each
 * new program gets /dev/null in their place: it must not read or type in a terminal that belongs to another.
 */
export class OpenTerminals {
  readonly #masters = new Set<number>();
  #nothing: number | undefined;

  add(master: number): void {
    this.#masters.add(master);
  }

  delete(master: number): void {
    this.#masters.delete(master);
  }

  /** The standard streams, followed by what hides every held terminal and the `others`. */
  hide(streams: readonly (number | 'ignore')[], others: readonly number[] = []): (number | 'ignore')[] {
    const all = [...streams];
    for (const fd of [...this.#masters, ...others]) {
      this.#nothing ??= openSync('/dev/null', 'r+');
      while (all.length <= fd) all.push('ignore');
      all[fd] = this.#nothing;
    }
    return all;
  }
}
