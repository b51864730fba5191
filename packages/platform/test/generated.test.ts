import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const generateScript = join(repository, 'scripts/generate.mjs');
const run = promisify(execFile);

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-generate-'));
  await cp(join(repository, 'spec'), join(root, 'spec'), { recursive: true });
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function generateInto(name: string): Promise<string> {
  const out = join(root, name);
  await run(process.execPath, [generateScript, 'platform', '--root', root, '--out', out]);
  return join(out, 'packages/platform/src/gen');
}

async function contentsOf(directory: string): Promise<Record<string, string>> {
  const names = await readdir(directory);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')])),
  );
}

/** Compiles a program against generated types; returns what the compiler said, empty when it was content. */
async function compile(gen: string, program: string): Promise<string> {
  await writeFile(join(gen, 'program.ts'), program);
  await writeFile(join(gen, 'package.json'), '{ "type": "module" }');
  const compilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom'],
    types: [],
  };
  await writeFile(join(gen, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  const args = [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'];
  try {
    await run(process.execPath, args, { cwd: gen });
    return '';
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
}

const program = `
import type { ErrorCode, NewSandboxV2 } from './platform-schemas.js';
export const body: NewSandboxV2 = { templateID: 'base' };
export const code: ErrorCode = 'unheard_of';
`;

describe('generating', () => {
  it('leaves the committed files as they are', async () => {
    const [generated, committed] = await Promise.all([
      contentsOf(await generateInto('same')),
      contentsOf(join(repository, 'packages/platform/src/gen')),
    ]);
    expect(Object.keys(generated).sort()).toEqual(Object.keys(committed).sort());
    for (const [name, content] of Object.entries(generated)) expect(content, name).toBe(committed[name]);
  });

  it('names in every file the source that it came from and the digest of that source', async () => {
    const files = await contentsOf(join(repository, 'packages/platform/src/gen'));
    for (const [name, content] of Object.entries(files)) {
      if (name.endsWith('.json')) {
        expect(JSON.parse(content)['x-generated'], name).toEqual({
          source: expect.stringMatching(/^spec\//),
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        });
      } else {
        expect(content, name).toMatch(/^\/\/ Generated .*\n\/\/ Source: \S+\n\/\/ sha256: [0-9a-f]{64}\n/);
      }
    }
  });

  it('marks deprecated operations, so that editors strike them out', async () => {
    const types = await readFile(join(repository, 'packages/platform/src/gen/platform.ts'), 'utf8');
    const operation = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*post: operations\["createSandbox"\];/.exec(types);
    expect(operation?.[1]).toContain('@deprecated');
  });
});

// A whole generation and a compile each, beside the machine's other work.
describe('editing a schema', { timeout: 180_000 }, () => {
  it('breaks the compile of what must follow, and of nothing else', async () => {
    expect(await compile(await generateInto('before'), program)).toBe('');

    const file = join(root, 'spec/platform/schemas/sandboxes.yaml');
    const text = await readFile(file, 'utf8');
    const edited = text.replace(
      /(NewSandboxOptions:[\s\S]*?required: \[)templateID\]/,
      '$1templateID, autoPause]',
    );
    expect(edited).not.toBe(text);
    await writeFile(file, edited);
    try {
      const messages = await compile(await generateInto('after'), program);
      expect(messages).toMatch(/program\.ts\(3,14\): error TS2322/);
      expect(messages).toContain('autoPause');
      expect(messages.match(/error TS/g)).toHaveLength(1);
    } finally {
      await writeFile(file, text);
    }
  });
});
