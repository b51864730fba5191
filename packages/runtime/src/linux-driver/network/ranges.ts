import { isIPv4 } from 'node:net';
import { DriverError } from '../../contract/errors.js';
import type { ForwardedDestinations } from '../../contract/instance.js';

const MAX_FORWARDED = 256;
const MAX_PORTS = 16;

/**
 * Checks ranges that an operator allows. They become a part of the host's rules, word for word.
 * @throws {DriverError} `invalid_spec` for what is no CIDR of IPv4
 */
export function requireRanges(ranges: readonly string[]): void {
  for (const range of ranges) {
    const [start = '', bits = ''] = range.split('/');
    if (!isIPv4(start) || !/^(0|[1-9]\d?)$/.test(bits) || Number(bits) > 32 || `${start}/${bits}` !== range)
      throw new DriverError('invalid_spec', `"${range}" is no range of IPv4 addresses, such as 10.1.2.0/24.`);
  }
}

/**
 * Checks what is to be forwarded. It becomes a part of rules, word for word.
 * @throws {DriverError} `invalid_spec`
 */
export function requireDestinations({ ranges, exceptPorts }: ForwardedDestinations): void {
  const refuse = (message: string) => new DriverError('invalid_spec', message);
  if (ranges.length > MAX_FORWARDED || exceptPorts.length > MAX_PORTS)
    throw refuse(`At most ${MAX_FORWARDED} ranges can be forwarded, and ${MAX_PORTS} ports be left out.`);
  let before = -1;
  for (const { first, last } of ranges) {
    if (!isIPv4(first) || !isIPv4(last)) throw refuse(`"${first}" to "${last}" are no IPv4 addresses.`);
    const [from, to] = [numberOf(first), numberOf(last)];
    if (from <= before || to < from) throw refuse(`The range from ${first} to ${last} is out of order.`);
    before = to;
  }
  for (const port of exceptPorts)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw refuse(`${port} is no port.`);
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}
