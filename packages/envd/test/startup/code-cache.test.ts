import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { daemonProgram } from '../../location.js';
import { parseCodeCache, serializeCodeCache } from '../../src/startup/code-cache.js';
import { startBundled } from '../bundled-daemon.js';
import { collect, shell } from '../process/collect.js';

let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'envd-cache-test-'));
  cpSync(daemonProgram.directory, directory, { recursive: true });
  // A build writes the caches of the Node that it runs on; another one here looks for its own.
  if (caches().some((name) => name.includes(`-${process.version}-`))) return;
  for (const name of caches()) rmSync(join(directory, name));
  await writeCaches();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const caches = () => readdirSync(directory).filter((name) => name.endsWith('.cache'));
const entry = () => join(directory, 'envd.cjs');

function writeCaches(): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [entry(), '--write-code-cache'], (error, _, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stderr }),
    );
  });
}

async function expectToWork(nodeFlags: string[] = []): Promise<void> {
  const daemon = await startBundled({ entry: entry(), nodeFlags });
  try {
    const run = await collect(daemon.client.start(shell('echo works; exit 3')));
    expect(run).toMatchObject({ stdout: 'works\n', end: { exitCode: 3 } });
  } finally {
    await daemon.stop();
  }
}

describe('the content of a cache file', () => {
  const data = Buffer.from(Array.from({ length: 400 }, (_, index) => index % 251));

  it('is read as it was written', () => {
    expect(parseCodeCache(serializeCodeCache(data))).toEqual(data);
  });

  it.each([0, 17, 399, 400, 555, 799])('is refused with byte %i changed', (at) => {
    const file = serializeCodeCache(data);
    file[at]! ^= 1;
    expect(parseCodeCache(file)).toBeUndefined();
  });

  it.each([0, 1, 399, 400, 798, 799])('is refused when cut to %i bytes', (size) => {
    // A cut in the middle leaves two halves that differ.
    expect(parseCodeCache(serializeCodeCache(data).subarray(0, size))).toBeUndefined();
  });
});

describe('the daemon', () => {
  it('has a cache for both of its parts after a build', () => {
    expect(caches().map((name) => name.split('-')[0])).toEqual(['core', 'services']);
  });

  it('starts without a cache, and writes it when it is told to', async () => {
    const before = caches();
    for (const name of before) rmSync(join(directory, name));
    await expectToWork();
    expect(caches()).toEqual([]);
    expect(await writeCaches()).toEqual({ code: 0, stderr: '' });
    expect(caches()).toEqual(before);
    await expectToWork();
  });

  it.each([
    ['a damaged', (content: Buffer) => content.fill(0x55, content.length / 4, content.length / 4 + 64)],
    ['a truncated', (content: Buffer) => content.subarray(0, content.length - 1001)],
    ['an empty', () => Buffer.alloc(0)],
    // Both copies agree, so that V8's own check has to refuse it.
    ['a meaningless', () => Buffer.from('not compiled code, '.repeat(2))],
  ])('starts with %s cache', async (_, damage) => {
    for (const name of caches()) {
      const path = join(directory, name);
      writeFileSync(path, damage(readFileSync(path)));
    }
    await expectToWork();
  });

  it('starts with a cache that was made under other flags', async () => {
    await expectToWork(['--no-opt', '--stack-size=900']);
  });

  // Node's own table of what it compiled, told at the exit.
  const TELL = `const { internalBinding } = require('internal/test/binding');
    process.once('exit', () => {
      const { compiledWithoutCache } = internalBinding('builtins').getCacheUsage();
      require('node:fs').writeFileSync(process.env.TOLD, JSON.stringify([...compiledWithoutCache]));
    });`;

  it("has run its first program without compiling Node's own large modules", async () => {
    const [hook, told] = [join(directory, 'tell.cjs'), join(directory, 'told.json')];
    writeFileSync(hook, TELL);
    const nodeFlags = ['--no-warnings', '--expose-internals', '--require', hook];
    const daemon = await startBundled({ entry: entry(), nodeFlags, env: { TOLD: told } });
    await collect(daemon.client.start(shell('true'))).finally(daemon.stop);
    const compiled = JSON.parse(readFileSync(told, 'utf8')) as string[];
    expect(compiled.filter((name) => /^(cluster|crypto|dns|http|net)$|child_process/.test(name))).toEqual([]);
  });

  it('says so when it cannot write the cache, leaves nothing, and starts all the same', async () => {
    const names = caches();
    for (const name of names) {
      rmSync(join(directory, name));
      mkdirSync(join(directory, name));
    }
    const files = readdirSync(directory);
    const { code, stderr } = await writeCaches();
    expect(code).toBe(1);
    expect(stderr).toContain('cannot write the code cache');
    expect(readdirSync(directory)).toEqual(files);
    await expectToWork();
  });
});
