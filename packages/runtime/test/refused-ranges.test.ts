import { expect, it } from 'vitest';
import { DENIED_RANGES } from '../../egress/src/policy/denied-ranges.js';
import { REFUSED_RANGES } from '../src/linux-driver/network/nft-rules.js';

it('lets the gateway refuse, of IPv4, what the egress policy denies, and nothing else', () => {
  expect(REFUSED_RANGES).toEqual(DENIED_RANGES.filter((range) => !range.includes(':')));
});
