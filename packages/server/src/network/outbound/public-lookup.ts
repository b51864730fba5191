import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { deniedRangeOf, parseAddress } from '@svc/network-policy';
import { lookupHost } from './resolve-host.js';

/** A name that only addresses outside the public internet stand for, or such an address itself. */
export class ForbiddenAddressError extends Error {}

/**
 * Looks names up and gives only addresses of the public internet. To be handed to what connects, so that the address
 * that was checked is the one that is used: no second look-up can give another.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) =>
  lookupHost(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, '', 0);
    const allowed = (found as LookupAddress[]).filter((each) => isPublicAddress(each.address));
    const first = allowed[0];
    if (first === undefined) return callback(new ForbiddenAddressError(hostname), '', 0);
    if (options.all === true) return callback(null, allowed);
    callback(null, first.address, first.family);
  });

/** Refuses an address that is written out: nothing looks it up. @throws {ForbiddenAddressError} */
export function assertPublicHost(host: string): void {
  const bare = host.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0 && !isPublicAddress(bare)) throw new ForbiddenAddressError(host);
}

/**
 * Returns whether an IP address is one of the public internet. The server reaches no address for a user that sandboxes may not reach.
 * IPv4 inside IPv6 is judged as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && deniedRangeOf(parsed) === undefined;
}
