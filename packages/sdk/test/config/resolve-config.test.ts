import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { directHost, directUrl, routedUrl } from '../../src/config/addresses.js';
import type { ClientOptions } from '../../src/config/options.js';
import { resolveConfig } from '../../src/config/resolve-config.js';
import { sdkVersion } from '../../src/config/version.js';

const resolve = (options: ClientOptions = {}, environment: Record<string, string> = {}) =>
  resolveConfig(options, { environment, kind: 'node', userAgent: 'node/1' });

describe('resolveConfig', () => {
  it('takes options over the environment over the defaults', () => {
    const environment = { SVC_API_KEY: 'env', SVC_API_URL: 'http://env:1', SVC_LOG: 'debug' };
    expect(resolve({ apiKey: 'option' }, environment)).toMatchObject({
      apiKey: 'option',
      apiUrl: 'http://env:1',
      logLevel: 'debug',
    });
    expect(resolve()).toMatchObject({
      apiKey: undefined,
      apiUrl: 'http://localhost:3000',
      sandboxUrl: 'http://localhost:3002',
      maxRetries: 2,
      requestTimeoutMs: 60_000,
      logLevel: 'warn',
      userAgent: `svc-sdk/${sdkVersion} node/1`,
    });
  });

  it('does not let an explicit undefined clear the environment', () => {
    expect(resolve({ apiKey: undefined }, { SVC_API_KEY: 'env' }).apiKey).toBe('env');
  });

  it('keeps 0', () => {
    expect(resolve({ maxRetries: 0, requestTimeoutMs: 0 })).toMatchObject({
      maxRetries: 0,
      requestTimeoutMs: 0,
    });
  });

  it('finds the API below a domain', () => {
    expect(resolve({ domain: 'svc.test' })).toMatchObject({
      apiUrl: 'https://api.svc.test',
      sandboxUrl: undefined,
    });
  });

  it('finds the domain in the address of the API', () => {
    expect(resolve({ apiUrl: 'https://api.svc.test' }).domain).toBe('svc.test');
    expect(resolve({ apiUrl: 'http://10.0.0.1:3000' })).toMatchObject({
      domain: undefined,
      sandboxUrl: 'http://10.0.0.1:3000',
    });
  });

  it('accepts any form of API key', () => {
    expect(resolve({ apiKey: 'whatever' }).apiKey).toBe('whatever');
  });

  it('puts the tag of an integration first into the user agent', () => {
    expect(resolve({ userAgent: 'agent/1' }).userAgent).toBe(`agent/1 svc-sdk/${sdkVersion} node/1`);
  });

  it.each([
    { apiUrl: 'localhost:3000' },
    { sandboxUrl: 'nope' },
    { apiUrl: 'http://user:word@host' },
    { maxRetries: -1 },
    { requestTimeoutMs: Number.NaN },
  ])('refuses %j with a message that names the option', (options) => {
    expect(() => resolve(options)).toThrow(Object.keys(options)[0] as string);
  });
});

describe('addresses of sandboxes', () => {
  const place = { sandboxId: 'iabc' };

  it.each([
    ['a sandboxUrl', { sandboxUrl: 'http://gw:8/' }, 'http://gw:8', '80-iabc.gw:8', 'http://80-iabc.gw:8'],
    [
      'a domain',
      { domain: 'svc.test' },
      'https://sandbox.svc.test',
      '80-iabc.svc.test',
      'https://80-iabc.svc.test',
    ],
    ['debug', { debug: true }, 'http://localhost:80', 'localhost:80', 'http://localhost:80'],
    [
      'nothing',
      {},
      'http://localhost:3002',
      '80-iabc.svc.localhost:3002',
      'http://80-iabc.svc.localhost:3002',
    ],
    [
      'a domain and a gateway with a port',
      { domain: 'svc.test', sandboxUrl: 'http://127.0.0.1:8' },
      'http://127.0.0.1:8',
      '80-iabc.svc.test:8',
      'http://80-iabc.svc.test:8',
    ],
  ] as const)('follow %s', (_, options, routed, host, url) => {
    const config = resolve(options);
    expect(routedUrl(config, place, 80)).toBe(routed);
    expect(directHost(config, place, 80)).toBe(host);
    expect(directUrl(config, place, 80)).toBe(url);
  });

  it('prefer the domain that the sandbox reported', () => {
    expect(routedUrl(resolve({ domain: 'a.test' }), { ...place, domain: 'b.test' }, 80)).toBe(
      'https://sandbox.b.test',
    );
  });

  it('use the host of the port itself in browsers', () => {
    const config = { ...resolve({ domain: 'a.test' }), runtimeKind: 'browser' as const };
    expect(routedUrl(config, place, 80)).toBe('https://80-iabc.a.test');
  });
});

it('reports the version of its package.json', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(sdkVersion).toBe(manifest.version);
});
