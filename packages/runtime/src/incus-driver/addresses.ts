import { DriverError } from '../contract/errors.js';

/**
 * IPv4 addresses for sandboxes out of one range, each used by one at a time. Other servers take addresses of the same range:
 * what is taken here is one that nobody is known to have, and not claimed yet.
 */
export class Addresses {
  readonly #first: number;
  readonly #count: number;
  readonly #used = new Set<string>();
  /** Of instances that this driver does not hold, as far as it knows. */
  #others = new Set<string>();
  #next: number;

  /**
   * @param range CIDR, `/8` to `/30`. Its first and last address are left out.
   * @param start where to begin, 0 to 1: an address that was used lately is still known under its old machine, and servers that
   * begin at different places rarely want the same.
   * @throws {DriverError} `unsupported` saying what is wrong with the range.
   */
  constructor(range: string, start: number) {
    const [, address = '', bitsText = ''] = /^(.+)\/(\d{1,2})$/.exec(range) ?? [];
    const number = parse(address);
    const bits = Number(bitsText);
    if (number === undefined || bits < 8 || bits > 30) {
      throw new DriverError(
        'unsupported',
        `"${range}" is no range of addresses for sandboxes: give one such as 10.77.16.0/20.`,
      );
    }
    const size = 2 ** (32 - bits);
    this.#first = Math.floor(number / size) * size + 1;
    this.#count = size - 2;
    this.#next = Math.floor(start * this.#count);
  }

  /** Returns true for an address of the range. Incus may report any address: the driver connects to no other. */
  has(address: string): boolean {
    const number = parse(address);
    return number !== undefined && number >= this.#first && number < this.#first + this.#count;
  }

  /** Marks one as used that was found. */
  use(address: string): void {
    this.#used.add(address);
  }

  /** Replaces what is known of the addresses that others have. */
  setOthers(addresses: Iterable<string>): void {
    this.#others = new Set(addresses);
  }

  /**
   * Takes the one that was free the longest; where others seem to have all, one of theirs, as it may be free since.
   * @throws {DriverError} `no_capacity`
   */
  take(): string {
    const address = this.#nextWithout(this.#others) ?? this.#nextWithout(new Set());
    if (address !== undefined) {
      this.#used.add(address);
      return address;
    }
    throw new DriverError('no_capacity', 'There is no room for another sandbox.', {
      detail: 'every address of the range is used',
    });
  }

  #nextWithout(others: ReadonlySet<string>): string | undefined {
    for (let tried = 0; tried < this.#count; tried += 1) {
      const address = format(this.#first + this.#next);
      this.#next = (this.#next + 1) % this.#count;
      if (!this.#used.has(address) && !others.has(address)) return address;
    }
    return undefined;
  }

  release(address: string): void {
    this.#used.delete(address);
  }

  /** Gives one up that somebody else has. */
  leave(address: string): void {
    this.#used.delete(address);
    this.#others.add(address);
  }
}

/** Undefined for what is no IPv4 address in its usual form. */
function parse(address: string): number | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(address)) return undefined;
  const parts = address.split('.').map(Number);
  return parts.some((part) => part > 255) ? undefined : parts.reduce((sum, part) => sum * 256 + part, 0);
}

function format(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
