#!/usr/bin/env node
// Builds the package in the working directory from its own `exports` and `imports` maps.
//
// Every target with an `@svc/source` condition is an entry. TypeScript entries become ESM in dist/esm (code shared by
// entries in common chunks) and, where the map has a `require` branch, CommonJS in dist/cjs. JSON entries are copied.
// Declarations come from tsc and serve both module systems.
//
// `"svcBuild": { "apart": ["./src/name.ts"] }` makes one chunk of all that the main entry imports, which every other entry but the named
// ones, and whatever is imported when it is first used, stands on: each file costs a start of a program half a millisecond.
//
// Dependencies stay imports. `"svcBuild": { "bundle": ["name", "@scope/*"] }` in package.json pulls the named ones in.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import { repository } from './generate/run.mjs';
import { thirdPartyNotices } from './third-party.mjs';

const root = process.cwd();
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { bundle: bundled = [], apart } = manifest.svcBuild ?? {};

/** Returns the target that a conditional one means under the given conditions, as Node resolves it; undefined when nothing matches. */
function resolveTarget(target, conditions) {
  if (typeof target === 'string') return target;
  for (const [condition, inner] of Object.entries(target ?? {})) {
    if (condition !== 'default' && !conditions.includes(condition)) continue;
    const found = resolveTarget(inner, conditions);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Conditions that the maps tell apart besides those of module systems: a platform such as `node`, or none. */
const platforms = [['node'], ['browser'], ['deno'], ['bun'], ['workerd'], []];

function collectEntries() {
  const entries = new Map();
  for (const target of [...Object.values(manifest.exports ?? {}), ...Object.values(manifest.imports ?? {})]) {
    if (typeof target === 'string') continue;
    for (const platform of platforms) {
      const source = resolveTarget(target, ['@svc/source', ...platform]);
      const esm = resolveTarget(target, ['import', ...platform]);
      const cjs = resolveTarget(target, ['require', ...platform]);
      if (source?.includes('/src/')) entries.set(source, { source, esm, cjs });
    }
  }
  return [...entries.values()];
}

const isBundled = (specifier) =>
  bundled.some((name) =>
    name.endsWith('/*')
      ? specifier.startsWith(name.slice(0, -1))
      : specifier === name || specifier.startsWith(`${name}/`),
  );

/**
 * Leaves dependencies to npm and, in ESM, `#internal` names to the `imports` map of wherever the package runs. CommonJS
 * runs in Node alone, and in dist/cjs, a package scope without that map: there Node's branch is built in.
 */
const externals = (format) => ({
  name: 'externals',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      const inside = kind === 'entry-point' || isBundled(path) || (format === 'cjs' && path.startsWith('#'));
      return inside ? undefined : { path, external: true };
    });
  },
});

/**
 * Has every entry and late module import the main entry, so that all need the same of it: esbuild makes a chunk of each set of modules
 * that the same entries need.
 */
function oneCore(apart) {
  const main = resolve(root, resolveTarget(manifest.exports['.'], ['@svc/source']));
  const stay = [main, ...apart.map((path) => resolve(root, path))];
  return {
    name: 'one-core',
    setup(esbuild) {
      const standing = new Set();
      esbuild.onResolve({ filter: /^\./ }, async ({ path, kind, pluginData, ...from }) => {
        if (pluginData === 'resolving' || kind !== 'dynamic-import') return undefined;
        const found = await esbuild.resolve(path, { ...from, kind, pluginData: 'resolving' });
        standing.add(found.path);
        return found;
      });
      esbuild.onResolve({ filter: /^one-core$/ }, () => ({ path: main }));
      esbuild.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const isEntry = esm.some((entry) => entry.in === path && entry.out.split('/').length === 1);
        if (stay.includes(path) || !(isEntry || standing.has(path))) return undefined;
        return { contents: `${readFileSync(path, 'utf8')}\nimport 'one-core';\n`, loader: 'ts' };
      });
    },
  };
}

function entryPoints(entries, kind, directory) {
  return entries
    .filter((entry) => entry[kind]?.startsWith(`./${directory}/`))
    .map((entry) => ({
      in: resolve(root, entry.source),
      out: relative(join(root, directory), resolve(root, entry[kind])).replace(/\.[cm]?js$/, ''),
    }));
}

const common = {
  bundle: true,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2022',
  conditions: ['@svc/source', 'node'],
  absWorkingDir: root,
  legalComments: 'none',
  // Dependencies pulled in are read at every start of a program: keep them small. Names stay, for stack traces.
  minifyWhitespace: bundled.length > 0,
  minifySyntax: bundled.length > 0,
  // Node shows the line of an uncaught error: it must be one that fits a screen.
  lineLimit: 160,
  logLevel: 'warning',
};

const entries = collectEntries();
const scripts = entries.filter((entry) => !entry.source.endsWith('.json'));
const esm = entryPoints(scripts, 'esm', 'dist/esm');
const cjs = entryPoints(scripts, 'cjs', 'dist/cjs');
const stale = scripts.filter((entry) => !entry.esm?.startsWith('./dist/esm/'));
if (stale.length > 0)
  throw new Error(`No dist/esm target for ${stale.map((entry) => entry.source).join(', ')}`);

rmSync(join(root, 'dist'), { recursive: true, force: true });
const { metafile } = await build({
  ...common,
  metafile: true,
  entryPoints: esm,
  outdir: 'dist/esm',
  format: 'esm',
  plugins: [...(apart === undefined ? [] : [oneCore(apart)]), externals('esm')],
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  // Such an import is for the cutting into chunks alone: nothing is evaluated for it.
  logOverride: { 'ignored-bare-import': 'silent' },
});
if (cjs.length > 0) {
  await build({
    ...common,
    entryPoints: cjs,
    outdir: 'dist/cjs',
    format: 'cjs',
    platform: 'node',
    plugins: [externals('cjs')],
    // A module that runs as both asks for `__filename` where it is absent.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  writeFileSync(join(root, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
}

const notices = thirdPartyNotices(root, Object.keys(metafile.inputs));
if (notices !== undefined) writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), notices);

for (const { source, esm: target } of entries.filter((entry) => entry.source.endsWith('.json'))) {
  mkdirSync(dirname(resolve(root, target)), { recursive: true });
  cpSync(resolve(root, source), resolve(root, target));
}

const tsc = join(repository, 'node_modules/typescript-7/bin/tsc');
const declarations = [
  '-p',
  'tsconfig.build.json',
  '--declaration',
  '--emitDeclarationOnly',
  '--outDir',
  'dist/esm',
];
try {
  execFileSync(process.execPath, [tsc, ...declarations], { cwd: root, stdio: 'inherit' });
} catch {
  process.exit(1);
}
if (cjs.length > 0) {
  cpSync(join(root, 'dist/esm'), join(root, 'dist/cjs'), {
    recursive: true,
    filter: (path) => !path.endsWith('.js') && !path.includes('/chunks'),
  });
}
