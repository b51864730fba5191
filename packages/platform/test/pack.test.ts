import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer } from '../../../scripts/pack-consumer.mjs';

let consumer: Consumer;
beforeAll(() => {
  consumer = createConsumer(['platform']);
  for (const { name, size, unpackedSize } of consumer.packed) {
    console.log(`${name}: ${size} bytes packed, ${unpackedSize} bytes installed`);
  }
});
afterAll(() => consumer?.dispose());

const use = `
const client = createPlatformClient({
  baseUrl: 'http://platform.test',
  apiKey: 'key',
  fetch: async (request) => Response.json([{ sandboxID: request.headers.get('X-API-Key') }]),
});
client.GET('/v2/sandboxes').then(({ data }) => console.log(data[0].sandboxID, platformOperations.getSandbox.path));
`;

const typedUse = `
import { createPlatformClient, type BodyOf, type ErrorCode, type Sandbox } from '@svc/platform';
import { platformDocument } from '@svc/platform/openapi';
export const body: BodyOf<'createSandboxV2'> = { templateID: 'base' };
export const code: ErrorCode = 'anything';
export async function create(): Promise<Sandbox | undefined> {
  const client = createPlatformClient({ baseUrl: 'http://platform.test' });
  const { data, error } = await client.POST('/v2/sandboxes', { body });
  const message: string | undefined = error?.message;
  return message === undefined ? data : undefined;
}
export const version: string = platformDocument.info.version;
// @ts-expect-error the types are real: templateID is required
export const wrong: BodyOf<'createSandboxV2'> = {};
`;

describe('the packed package', () => {
  it('works as an ECMAScript module', () => {
    consumer.write(
      'main.mjs',
      `import { createPlatformClient, platformOperations } from '@svc/platform';${use}`,
    );
    expect(consumer.node('main.mjs')).toBe('key /sandboxes/{sandboxID}\n');
  });

  it('works as CommonJS', () => {
    consumer.write(
      'main.cjs',
      `const { createPlatformClient, platformOperations } = require('@svc/platform');${use}`,
    );
    expect(consumer.node('main.cjs')).toBe('key /sandboxes/{sandboxID}\n');
  });

  it('carries its documents as JSON and as modules', () => {
    consumer.write(
      'documents.cjs',
      `const { operatorDocument, platformDocument, volumesDocument } = require('@svc/platform/openapi');
      const platform = require('@svc/platform/openapi.json');
      const volumes = require('@svc/platform/volumes.openapi.json');
      const operator = require('@svc/platform/operator.openapi.json');
      const found = [operatorDocument, platformDocument, volumesDocument];
      require('node:assert').deepStrictEqual(found, [operator, platform, volumes]);
      console.log(platform.openapi, Object.keys(platform.paths).length > 30);`,
    );
    expect(consumer.node('documents.cjs')).toMatch(/^3\.1\.\d true\n$/);
  });

  it('gives its types to ECMAScript modules, to CommonJS, and to what imports types alone', () => {
    consumer.write('esm.mts', typedUse);
    consumer.write('cjs.cts', typedUse);
    consumer.write(
      'types.ts',
      `import type { Sandbox } from '@svc/platform';\nexport type Id = Sandbox['sandboxID'];\n`,
    );
    // Each run of the compiler reads and checks the declarations of the language anew.
    const files = ['esm.mts', 'cjs.cts', 'types.ts'];
    consumer.typecheck(files, { module: 'NodeNext', moduleResolution: 'NodeNext' });
  });

  it('gives its types to a bundled program', () => {
    consumer.write('bundled.ts', typedUse);
    consumer.typecheck(['bundled.ts'], { module: 'ESNext', moduleResolution: 'Bundler' });
  });

  it('loads quickly', () => {
    const loaded = consumer.loadOf('@svc/platform');
    // Node loads its HTTP client when a program first names Request, Response or fetch: an import must not.
    expect(loaded).not.toContain('undici');
  });
});
