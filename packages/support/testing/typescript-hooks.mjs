// Lets Node run the TypeScript sources of this repository, so that tests of programs need no build.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';

// A jailed process is a user that nobody knows, another one each time, and may use what root has.
const uid = process.getuid();
const owner = uid >= 2 ** 31 ? 0 : uid;
const cache = process.env.SVC_TEST_TRANSFORM_CACHE ?? join(tmpdir(), `svc-test-sources-${owner}`);
mkdirSync(cache, { recursive: true, mode: 0o700 });

export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.startsWith('file:')) {
    const source = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL);
    if (existsSync(source)) return { url: source.href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const text = readFileSync(file, 'utf8');
  const stored = join(
    cache,
    `${createHash('sha256').update('node20.19').update(file).update(text).digest('hex')}.mjs`,
  );
  if (!existsSync(stored)) {
    const { code } = transformSync(text, {
      loader: 'ts',
      format: 'esm',
      target: 'node20.19',
      sourcefile: file,
    });
    writeFileSync(`${stored}.${process.pid}`, code);
    renameSync(`${stored}.${process.pid}`, stored);
  }
  return { format: 'module', source: readFileSync(stored, 'utf8'), shortCircuit: true };
}
