import { describe, expect, it } from 'vitest';
import { objectionTo } from '../../../scripts/check-imports.mjs';
import { circlesOf, importsOf } from '../../../scripts/import-graph.mjs';

describe('the rules of who imports whom', () => {
  it.each([
    ['sdk', 'sandbox/create.ts', '@svc/platform'],
    ['envd', 'server/daemon.ts', '@svc/daemon/gen'],
    ['server', 'main.ts', '@svc/runtime'],
    ['sdk', 'runtime/node.ts', 'node:fs'],
    ['daemon', 'transport/node.ts', '@connectrpc/connect-node'],
    ['server', 'main.ts', 'node:fs'],
    ['server', 'sandboxes/state.ts', '../api/routes.js'],
    ['server', 'index.ts', './api/routes.js'],
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
    ['server', 'api/routes.ts', '../sandboxes/state.js'],
    ['server', 'network/secrets/values.ts', '../../teams/records.js'],
    ['server', 'attic/box.ts', '../storage/json.js'],
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

  it.each([
    ['files side by side', { 'a.ts': ['b.ts'], 'b.ts': ['c.ts'], 'c.ts': ['a.ts'] }, ['', 'a.ts b.ts c.ts']],
    ['files of one folder', { 'x/a.ts': ['x/b.ts'], 'x/b.ts': ['x/a.ts'] }, ['x/', 'a.ts b.ts']],
    [
      'folders, though no file is in one',
      { 'x/a.ts': ['y/b.ts'], 'y/c.ts': ['x/d.ts'], 'x/d.ts': [], 'y/b.ts': [] },
      ['', 'x y'],
    ],
    [
      'a folder and a file beside it',
      { 'x/y/a.ts': ['x/b.ts'], 'x/b.ts': ['x/y/c.ts'], 'x/y/c.ts': [] },
      ['x/', 'b.ts y'],
    ],
  ])('find a circle of %s', (_what, imports, [folder, members]) => {
    const found = circlesOf(new Map(Object.entries(imports)));
    expect(found.map((circle) => [circle.folder, circle.members.join(' ')])).toEqual([[folder, members]]);
  });

  it('find no circle where imports lead one way', () => {
    expect(
      circlesOf(
        new Map([
          ['a.ts', ['x/b.ts', 'x/c.ts']],
          ['x/b.ts', ['x/c.ts']],
          ['x/c.ts', ['d.ts']],
          ['d.ts', []],
        ]),
      ),
    ).toEqual([]);
  });
});
