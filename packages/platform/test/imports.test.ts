import { describe, expect, it } from 'vitest';
import { importsOf, objectionTo } from '../../../scripts/check-imports.mjs';

describe('the rules of who imports whom', () => {
  it.each([
    ['sdk', 'sandbox/create.ts', '@svc/platform'],
    ['envd', 'server/daemon.ts', '@svc/daemon/gen'],
    ['server', 'main.ts', '@svc/runtime'],
    ['sdk', 'runtime/node.ts', 'node:fs'],
    ['daemon', 'transport/node.ts', '@connectrpc/connect-node'],
    ['server', 'main.ts', 'node:fs'],
    ['server', 'api/routes.ts', '../sandboxes/state.js'],
    ['server', 'api/routes.ts', './document.js'],
  ])('let %s/%s import %s', (name, file, specifier) => {
    expect(objectionTo(name, file, specifier)).toBeUndefined();
  });

  it.each([
    ['sdk', 'sandbox/create.ts', '@svc/server'],
    ['platform', 'index.ts', '@svc/daemon'],
    ['envd', 'server/daemon.ts', '@svc/daemon'],
    ['runtime', 'index.ts', '@svc/platform'],
    ['sdk', 'sandbox/create.ts', 'node:fs'],
    ['sdk', 'sandbox/create.ts', 'fs'],
    ['platform', 'index.ts', 'node:url'],
    ['server', 'api/routes.ts', '../gateway/host.js'],
    ['server', 'gateway/host.ts', '../api/routes.js'],
    ['sdk', 'index.ts', '../../server/src/index.js'],
  ])('forbid %s/%s to import %s', (name, file, specifier) => {
    expect(objectionTo(name, file, specifier)).toBeTypeOf('string');
  });

  it('see every kind of import', () => {
    const text = `import a from 'a'; import type { B } from 'b'; export * from 'c'; const d = await import('d'); import 'e';`;
    expect(importsOf(text)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
