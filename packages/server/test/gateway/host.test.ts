import { describe, expect, it } from 'vitest';
import { hostName, resolveTarget } from '../../src/gateway/host.js';

const options = { sandboxHosts: ['sbx.svc.dev'], headerPrefixes: ['svc-', 'acme-'] };
const both = { 'svc-sandbox-id': 'abc1', 'svc-sandbox-port': '49983' };
const target = (sandboxId = 'abc1', port = 49_983) => ({
  kind: 'target',
  sandboxId,
  port,
});
const refused = (reason: string) => ({ kind: 'refused', reason });

describe('resolveTarget', () => {
  it.each([
    ['headers count on localhost', 'localhost:3000', both, target()],
    ['headers count on an IPv4 address', '127.0.0.1:80', both, target()],
    ['headers count on an IPv6 address', '[::1]:80', both, target()],
    ['headers count on a host that starts with sandbox.', 'sandbox.example.com', both, target()],
    ['headers count on the configured host, in any case', 'SBX.svc.dev:443', both, target()],
    ['headers do not count on sandbox. alone', 'sandbox.', both, refused('invalid_host')],
    ['headers do not count on another host', 'example.com', both, refused('invalid_host')],
    ['the host wins over headers where they do not count', '80-xyz.example.com', both, target('xyz', 80)],
    [
      'aliases of the header brand are understood',
      'localhost',
      { 'acme-sandbox-id': 'abc1', 'acme-sandbox-port': '49983' },
      target(),
    ],
    [
      'our brand wins over an alias',
      'localhost',
      { ...both, 'acme-sandbox-id': 'other', 'acme-sandbox-port': '1' },
      target(),
    ],
    [
      'unknown brands are ignored',
      'localhost',
      { 'foo-sandbox-id': 'a', 'foo-sandbox-port': '1' },
      refused('invalid_host'),
    ],
    [
      'brands are not mixed',
      'localhost',
      { 'svc-sandbox-id': 'a', 'acme-sandbox-port': '1' },
      refused('missing_header'),
    ],
    ['a missing port header', 'localhost', { 'svc-sandbox-id': 'abc1' }, refused('missing_header')],
    ['a missing id header', 'localhost', { 'svc-sandbox-port': '80' }, refused('missing_header')],
    ['no headers on the configured host', 'sbx.svc.dev', {}, refused('missing_header')],
    ['no headers on localhost', 'localhost', {}, refused('invalid_host')],
    ['no headers on an address', '127.0.0.1', {}, refused('invalid_host')],
    ['no host', undefined, {}, refused('invalid_host')],
    ['an empty host', '', both, refused('invalid_host')],
    ['a host that is none', 'a b', both, refused('invalid_host')],
    ['a host with user information', 'x@localhost', both, refused('invalid_host')],
    ['an id with capitals', 'localhost', { ...both, 'svc-sandbox-id': 'ABC' }, refused('invalid_sandbox_id')],
    ['an id with a slash', 'localhost', { ...both, 'svc-sandbox-id': '../x' }, refused('invalid_sandbox_id')],
    ['an empty id', 'localhost', { ...both, 'svc-sandbox-id': '' }, refused('invalid_sandbox_id')],
    ['an id sent twice', 'localhost', { ...both, 'svc-sandbox-id': 'a, b' }, refused('invalid_sandbox_id')],
    ...['0', '65536', '-1', '+80', '8e1', '0x50', ' ', '', '80 ', '99999999999999999999', '80.0'].map(
      (port) =>
        [
          `port ${JSON.stringify(port)}`,
          'localhost',
          { ...both, 'svc-sandbox-port': port },
          refused('invalid_port'),
        ] as const,
    ),
    [
      'the smallest and the largest port',
      'localhost',
      { ...both, 'svc-sandbox-port': '65535' },
      target('abc1', 65_535),
    ],
    ['a host name in capitals', '8080-ABC1.Example.COM', {}, target('abc1', 8080)],
    ['further parts of the label are ignored', '8080-abc1-client.example.com', {}, target('abc1', 8080)],
    ['a final dot', '8080-abc1.example.com.:443', {}, target('abc1', 8080)],
    ['a label without a dot after it', '8080-abc1', {}, refused('invalid_host')],
    ['a label without a dash', 'abc1.example.com', {}, refused('invalid_host')],
    ['a label with a bad port', 'x-abc1.example.com', {}, refused('invalid_port')],
    ['a label with an empty id', '80-.example.com', {}, refused('invalid_sandbox_id')],
    ['a label with a bad id', '80-ab_c.example.com', {}, refused('invalid_sandbox_id')],
  ] as const)('%s', (_name, host, headers, expected) => {
    expect(resolveTarget(host, headers, options)).toEqual(expected);
  });
});

describe('hostName', () => {
  it.each([
    ['EXAMPLE.com:80', 'example.com'],
    ['[::1]:80', '[::1]'],
    ['example.com.', 'example.com'],
    ['a:b', ''],
    ['a/b', ''],
    [undefined, ''],
  ])('reads %s as %s', (host, name) => {
    expect(hostName(host)).toBe(name);
  });
});
