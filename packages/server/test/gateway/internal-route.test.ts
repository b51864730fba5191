import { describe, expect, it } from 'vitest';
import { internalRoute } from '../../src/gateway/internal-route.js';

const names = ['init', 'freeze', 'unfreeze', 'fsfreeze', 'fsthaw', 'collapse', 'upgrade', 'logs'];

describe('internalRoute', () => {
  it.each(names)('knows /%s', (name) => {
    expect(internalRoute(`/${name}`)).toBe(`/${name}`);
  });

  it.each([
    '//init',
    '///init',
    '/./init',
    '/x/../init',
    '/../init',
    '/init/',
    '/init//',
    '/init/.',
    '/init?x=1',
    '/init#x',
    '/init;v=1',
    '/%69nit',
    '/%2569nit',
    '/%252569nit',
    '/in%69%74',
    '/%2finit',
    '/%2Finit%2F',
    '/x%2f..%2finit',
    '/x/%2e%2e/init',
    '/%2e/init',
    '/init%3fx',
    '/init%23x',
    '\\init',
    '/\\init',
    '/%5cinit',
    '/INIT',
    '/Init',
    '/in\tit',
    '/init%00',
    '/init%20',
  ])('sees through %j', (url) => {
    expect(internalRoute(url)).toBe('/init');
  });

  it.each([
    '/',
    '/health',
    '/files?path=/init',
    '/files/init',
    '/initial',
    '/x/init',
    '/init/x',
    '/%',
    '/%zz',
    '*',
  ])('leaves %j open', (url) => {
    expect(internalRoute(url)).toBeUndefined();
  });
});
