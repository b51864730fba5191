import { isIPv4 } from 'node:net';
import { DriverError } from '../../contract/errors.js';

/**
 * Checks ranges that an operator allows. They become a part of the host's rules, word for word.
 * @throws {DriverError} `invalid_spec` for what is no CIDR of IPv4
 */
export function requireRanges(ranges: readonly string[]): void {
  for (const range of ranges) {
    const [start = '', bits = ''] = range.split('/');
    if (!isIPv4(start) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32 || `${start}/${bits}` !== range)
      throw new DriverError('invalid_spec', `"${range}" is no range of IPv4 addresses, such as 10.1.2.0/24.`);
  }
}
