import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startServer } from '@svc/server';
import { chromium, launchChromium } from '@svc/support/testing/chromium';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer } from '../../../../scripts/pack-consumer.mjs';

const packages = ['platform', 'daemon', 'sdk', 'sync', 'testing'];
const isBuilt = packages.every((name) =>
  existsSync(new URL(`../../../${name}/dist/esm/index.js`, import.meta.url)),
);
if (!isBuilt) console.warn('package tests: skipped: run npm run build first');

/** Largest size of the core in a browser, minified and compressed, bytes. */
const largestBundle = 31_000;
describe.skipIf(!isBuilt)('the packed packages', () => {
  let consumer: Consumer;
  let directory: string;
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    consumer = createConsumer(packages);
    for (const { name, size, unpackedSize } of consumer.packed) {
      console.log(`${name}: ${size} bytes packed, ${unpackedSize} bytes installed`);
    }
    directory = await mkdtemp(join(tmpdir(), 'svc-package-'));
    server = await startServer({
      dataDir: directory,
      driver: 'process',
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: false,
      logLevel: 'error',
      poolSize: 0,
    });
  });
  afterAll(async () => {
    await server?.stop({ destroySandboxes: true });
    consumer?.dispose();
    if (directory) await rm(directory, { recursive: true, force: true });
  });

  const program = `
    (async () => {
      const sandbox = await Sandbox.create();
      const { stdout } = await sandbox.commands.run('echo "from $0"');
      await sandbox.files.write('a/b.txt', 'text');
      const text = await sandbox.files.read('a/b.txt');
      const signed = await webhooks.sign({ body: '{}', secret: 'x'.repeat(32) });
      const service = new TestService().onCommand('x', { stdout: 'scripted' });
      const scripted = await (await service.client().sandboxes.create()).commands.run('x');
      const missing = await sandbox.files.read('none').catch((error) => FileNotFoundError.is(error));
      await sandbox.kill();
      console.log([stdout.includes('bash'), text, Object.keys(signed).length, scripted.stdout, missing].join());
    })();`;
  const expected = 'true,text,3,scripted,true\n';

  /** Runs a program of the project beside the server that it talks to. Also fails when it does not end by itself. */
  function run(file: string): Promise<string> {
    const env = {
      ...process.env,
      SVC_API_URL: server.apiUrl,
      SVC_SANDBOX_URL: server.sandboxUrl,
      SVC_API_KEY: server.apiKey,
    };
    return new Promise((resolve, reject) => {
      const options = { cwd: consumer.directory, env, timeout: 100_000 };
      execFile(process.execPath, [file], options, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout),
      );
    });
  }

  it('work as ECMAScript modules, and let the program end', async () => {
    const imports = `import { FileNotFoundError, Sandbox, webhooks } from '@svc/sdk';
      import { TestService } from '@svc/testing';`;
    consumer.write('main.mjs', imports + program);
    expect(await run('main.mjs')).toBe(expected);
  });

  it('give operators a client of its own, in both module systems', () => {
    const use = `console.log(new OperatorClient({ operatorUrl: 'http://127.0.0.1:9' }).teams.keys.constructor.name);`;
    consumer.write('operator.mjs', `import { OperatorClient } from '@svc/sdk/operator';${use}`);
    consumer.write('operator.cjs', `const { OperatorClient } = require('@svc/sdk/operator');${use}`);
    expect([consumer.node('operator.mjs'), consumer.node('operator.cjs')]).toEqual([
      'TeamKeys\n',
      'TeamKeys\n',
    ]);
  });

  it('follow calls by OpenTelemetry from an entry of its own, in both module systems, and need it there alone', () => {
    const use = `
      const propagator = { inject: (_, carrier, setter) => setter.set(carrier, 'traceparent', 'sent'), extract: (c) => c, fields: () => [] };
      instrument({ propagator });
      const fetch = async (request) => (console.log(request.headers.get('traceparent')), new Response(null, { status: 204 }));
      new Client({ apiKey: 'k', fetch }).sandboxes.kill('some');`;
    const names = [
      [
        'traced.mjs',
        `import { Client } from '@svc/sdk'; import { instrument } from '@svc/sdk/opentelemetry';`,
      ],
      [
        'traced.cjs',
        `const { Client } = require('@svc/sdk'); const { instrument } = require('@svc/sdk/opentelemetry');`,
      ],
    ] as const;
    for (const [file, imports] of names) consumer.write(file, imports + use);
    // Everything else here runs without the peer.
    expect(() => consumer.node('traced.mjs')).toThrow(/Cannot find package '@opentelemetry\/api'/);
    const peer = join(consumer.directory, 'node_modules/@opentelemetry/api');
    mkdirSync(dirname(peer), { recursive: true });
    symlinkSync(join(process.cwd(), '../../node_modules/@opentelemetry/api'), peer);
    try {
      for (const [file] of names) expect(consumer.node(file)).toBe('sent\n');
    } finally {
      rmSync(peer);
    }
  });

  it('work as CommonJS, and let the program end', async () => {
    const imports = `const { FileNotFoundError, Sandbox, webhooks } = require('@svc/sdk');
      const { TestService } = require('@svc/testing');`;
    consumer.write('main.cjs', imports + program);
    expect(await run('main.cjs')).toBe(expected);
  });

  const typedUse = `import { Client, type CommandResult, type LifecycleEvent, Sandbox, SvcError, Template } from '@svc/sdk';
import { TestService } from '@svc/testing';
export async function main(): Promise<CommandResult> {
  const client = new Client({ apiKey: 'x' });
  const sandbox: Sandbox = await client.sandboxes.create({ template: 'base', timeoutMs: 1000 });
  const bytes: Uint8Array = await sandbox.files.read('x', { format: 'bytes' });
  const text: string = await sandbox.files.read('x');
  for await (const event of client.events.list()) describe(event);
  await client.templates.build(Template.from('base').run('true'), { name: text + bytes.length });
  return new TestService().client().sandboxes.get('x').then((other) => other.commands.run('true'));
}
export function describe(event: LifecycleEvent): string | undefined {
  return event.type === 'sandbox.lifecycle.killed' ? event.killReason : event.sandboxId;
}
export const code = (error: unknown): string | undefined => (SvcError.is(error) ? error.code : undefined);
// @ts-expect-error the types are real
export const wrong: number = Template.from('base');
`;

  it.each([
    [
      'ECMAScript modules and to CommonJS',
      ['esm.mts', 'cjs.cts'],
      { module: 'Node16', moduleResolution: 'Node16' },
    ],
    ['a bundled program', ['bundled.ts'], { module: 'ESNext', moduleResolution: 'Bundler' }],
  ])('give their types to %s', (_, files, options) => {
    for (const file of files) consumer.write(file, typedUse);
    consumer.typecheck(files, {
      ...options,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(process.cwd(), '../../node_modules/@types')],
    });
  });

  it(`make a browser bundle without a trace of Node whose core has at most ${largestBundle} bytes`, async () => {
    consumer.write('browser.js', `export { Client } from '@svc/sdk';`);
    const { outputFiles, metafile } = await build({
      entryPoints: [join(consumer.directory, 'browser.js')],
      bundle: true,
      minify: true,
      splitting: true,
      format: 'esm',
      platform: 'browser',
      outdir: join(consumer.directory, 'out'),
      write: false,
      metafile: true,
    });
    // The core is what loads at once: the entry and what it imports statically.
    const loaded = new Set<string>();
    const follow = (name: string): void => {
      if (loaded.has(name)) return;
      loaded.add(name);
      for (const { path, kind } of metafile.outputs[name]?.imports ?? [])
        if (kind === 'import-statement') follow(path);
    };
    follow(
      Object.keys(metafile.outputs).find((name) =>
        metafile.outputs[name]?.entryPoint?.endsWith('browser.js'),
      ) as string,
    );
    const sizes = outputFiles.map(({ path, contents }) => ({
      path,
      core: [...loaded].some((name) => path.endsWith(name.slice(name.lastIndexOf('/')))),
      bytes: gzipSync(contents).length,
    }));
    const sum = (core: boolean) =>
      sizes.reduce((total, file) => total + (file.core === core ? file.bytes : 0), 0);
    console.log(`browser bundle: core ${sum(true)} bytes, loaded later ${sum(false)} bytes (minified, gzip)`);
    expect(sum(true)).toBeLessThanOrEqual(largestBundle);
    for (const { text } of outputFiles) expect(text).not.toMatch(/["']node:|opentelemetry/i);
  });

  it('work in a browser, from a page of another origin', async (context) => {
    if (chromium === undefined) context.skip('there is no Chromium on this machine');
    consumer.write(
      'page.js',
      `import { FileNotFoundError, Sandbox, Client } from '@svc/sdk';
      globalThis.work = async (options) => {
        const client = new Client(options);
        const sandbox = await client.sandboxes.create();
        try {
          const bytes = crypto.getRandomValues(new Uint8Array(50000));
          await sandbox.files.write('browser/blob', bytes);
          const back = await sandbox.files.read('browser/blob', { format: 'bytes' });
          const output = [];
          const result = await sandbox.commands.run('echo one; sleep 0.1; echo two', { onStdout: (text) => void output.push(text) });
          const fed = await sandbox.commands.run('cat', { stdin: 'fed' });
          let shown = '';
          const terminal = await sandbox.pty.create({ onData: (data) => void (shown += new TextDecoder().decode(data)) });
          for (const line of ['echo $((6 * 7))and\\r', 'exit 3\\r']) await terminal.write(line);
          const { exitCode: left } = await terminal.wait();
          const missing = await sandbox.files.read('none').catch((error) => FileNotFoundError.is(error));
          const local = await sandbox.files.uploadDir('x', 'y').catch((error) => error.message);
          const watch = await sandbox.files.watch('browser');
          await sandbox.files.write('browser/seen', '1');
          let seen;
          for await (const event of watch) { seen = event.name; break; }
          return { same: back.every((byte, index) => byte === bytes[index]), output: output.join(''), code: result.exitCode, fed: fed.stdout, typed: shown.includes('42and'), left, missing, local, seen };
        } finally {
          await sandbox.kill();
        }
      };`,
    );
    await build({
      entryPoints: [join(consumer.directory, 'page.js')],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      outfile: join(consumer.directory, 'page.out.js'),
      logLevel: 'error',
    });
    const script = await readFile(join(consumer.directory, 'page.out.js'));
    const pages = createServer((request, response) => {
      const isScript = request.url === '/page.js';
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
    });
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
    const pagesPort = (pages.address() as AddressInfo).port;
    const ports = [server.apiUrl, server.sandboxUrl].map((url) => Number(new URL(url).port));
    const opened = await launchChromium([pagesPort, ...ports]);
    try {
      const page = await opened.browser.newPage();
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      await page.goto(`http://127.0.0.1:${pagesPort}/`);
      await page.waitForFunction('typeof work === "function"', undefined, { timeout: 100_000 });
      const { apiUrl, sandboxUrl, apiKey } = server;
      const result = await page.evaluate(`work(${JSON.stringify({ apiUrl, sandboxUrl, apiKey })})`);
      expect(result).toEqual({
        same: true,
        output: 'one\ntwo\n',
        code: 0,
        fed: 'fed',
        typed: true,
        left: 3,
        missing: true,
        local: expect.stringContaining('Run it in Node'),
        seen: 'seen',
      });
      expect(errors).toEqual([]);
    } finally {
      await opened[Symbol.asyncDispose]();
      pages.close();
    }
  });
});
