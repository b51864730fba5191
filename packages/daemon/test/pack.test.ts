import { execFile } from 'node:child_process';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer } from '../../../scripts/pack-consumer.mjs';
import { StartResponseSchema } from '../src/gen.js';
import { answerFrames, frame, messageFrame, startRawServer } from './raw-server.js';

let consumer: Consumer;
beforeAll(() => {
  consumer = createConsumer(['platform', 'daemon']);
  for (const { name, size, unpackedSize } of consumer.packed) {
    console.log(`${name}: ${size} bytes packed, ${unpackedSize} bytes installed`);
  }
});
afterAll(() => consumer?.dispose());

const use = `
const client = createDaemonClient({ baseUrl: process.argv[2], sandboxId: 'ibox' });
(async () => {
  const seen = [];
  for await (const { event } of client.process.start({ process: { cmd: 'true' } })) seen.push(event.event.case);
  await client.process.sendInput({}).catch((error) => seen.push(error instanceof ConnectError, Code[error.code]));
  console.log(seen.join(), ProcessService.typeName);
})();
`;

const typedUse = `
import { createDaemonClient, type EntryInfo } from '@svc/daemon';
import { type StartRequest, StartRequestSchema } from '@svc/daemon/gen';
export async function size(path: string): Promise<bigint | undefined> {
  const client = createDaemonClient({ baseUrl: 'http://sandbox.test', sandboxId: 'ibox' });
  const entry: EntryInfo | undefined = (await client.filesystem.stat({ path })).entry;
  return entry?.size;
}
export const name: 'process.StartRequest' = StartRequestSchema.typeName as 'process.StartRequest';
export type Command = NonNullable<StartRequest['process']>['cmd'];
// @ts-expect-error the types are real: a command is text
export const command: Command = 1;
`;

/** Runs a program of the project without blocking the server that it talks to. */
async function run(file: string): Promise<string> {
  await using server = await startRawServer((request, response) => {
    if (request.url.endsWith('/Start')) {
      return answerFrames(
        response,
        messageFrame(StartResponseSchema, { event: { start: { pid: 7 } } }),
        messageFrame(StartResponseSchema, { event: { end: {} } }),
        frame(2, {}),
      );
    }
    response.writeHead(404, { 'Content-Type': 'application/json' });
    response.end('{"code":"not_found","message":"no such process"}');
  });
  return await new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [file, server.baseUrl],
      { cwd: consumer.directory },
      (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout)),
    );
  });
}

describe('the packed package', () => {
  it('works as an ECMAScript module', async () => {
    const imports = `import { Code, ConnectError, createDaemonClient } from '@svc/daemon';
      import { Process as ProcessService } from '@svc/daemon/gen';`;
    consumer.write('main.mjs', imports + use);
    expect(await run('main.mjs')).toBe('start,end,true,NotFound process.Process\n');
  });

  it('works as CommonJS', async () => {
    const imports = `const { Code, ConnectError, createDaemonClient } = require('@svc/daemon');
      const { Process: ProcessService } = require('@svc/daemon/gen');`;
    consumer.write('main.cjs', imports + use);
    expect(await run('main.cjs')).toBe('start,end,true,NotFound process.Process\n');
  });

  it.each([
    [
      'ECMAScript modules and to CommonJS',
      ['esm.mts', 'cjs.cts'],
      { module: 'NodeNext', moduleResolution: 'NodeNext' },
    ],
    ['a bundled program', ['bundled.ts'], { module: 'ESNext', moduleResolution: 'Bundler' }],
  ])('gives its types to %s', (_, files, options) => {
    for (const file of files) consumer.write(file, typedUse);
    // Declarations of Connect name Node's and newer JavaScript's types; ours must not fail because of theirs.
    consumer.typecheck(files, { ...options, skipLibCheck: true });
  });

  it('makes a browser bundle without a trace of Node', async () => {
    consumer.write(
      'browser.mjs',
      `import { createDaemonClient } from '@svc/daemon'; globalThis.client = createDaemonClient;`,
    );
    const { outputFiles } = await build({
      absWorkingDir: consumer.directory,
      entryPoints: ['browser.mjs'],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    });
    const { text } = outputFiles[0]!;
    console.log(`browser bundle of @svc/daemon: ${text.length} bytes minified`);
    expect(text).not.toMatch(/["']node:|require\(/);
  });

  it('loads quickly, without HTTP clients that nobody has called', () => {
    const loaded = consumer.loadOf('@svc/daemon');
    expect(loaded).not.toMatch(/undici|NativeModule http2?\b/);
  });
});
