import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../src/network/outbound/public-lookup.js';
import { signatureKey } from '../../src/webhooks/delivery/signature.js';
import { checkWebhookUrl } from '../../src/webhooks/rules.js';
import { bucketLength } from '../../src/webhooks/stats.js';

describe('addresses that events may go to', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.1',
    '127.255.0.3',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    'not an address',
  ])('%s is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('URLs of webhooks', () => {
  it.each(['http://example.com/a', 'https://example.com:8443'])('may be %s', (url) => {
    expect(checkWebhookUrl(url)).toBe(url);
  });

  it.each([
    '',
    'example.com',
    'ftp://example.com',
    'javascript:alert(1)',
    'http://user:pass@example.com',
    'http://user@example.com',
    'http://:pass@example.com',
    `http://a/${'x'.repeat(2048)}`,
  ])('may not be %j', (url) => {
    expect(() => checkWebhookUrl(url)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

it('takes a secret as text, or as base64 after whsec_', () => {
  expect(signatureKey('plain')).toEqual(Buffer.from('plain'));
  expect(signatureKey(`whsec_${Buffer.from([1, 2, 3]).toString('base64')}`)).toEqual(Buffer.from([1, 2, 3]));
});

it('cuts a time span into at most 48 pieces of whole hours', () => {
  const hour = 3_600_000;
  expect(bucketLength(0)).toBe(hour);
  expect(bucketLength(24 * hour)).toBe(hour);
  expect(bucketLength(49 * hour)).toBe(2 * hour);
  expect(bucketLength(366 * 24 * hour)).toBe(183 * hour);
});
