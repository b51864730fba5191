// Bundles the web application: a page, a script and a style sheet whose names change with their content, and what a terminal needs
// in a chunk of its own. SDK and platform client are built in from their sources. They are no dependencies in the manifest: the
// SDK is tested on the server, and the server gives this package's files, so that turbo would see a circle.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { thirdPartyNotices } from '../../scripts/third-party.mjs';

const here = import.meta.dirname;
const dist = join(here, 'dist');
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/start.ts', style: 'src/style/style.css' },
  outdir: 'dist',
  entryNames: '[name]-[hash]',
  chunkNames: 'chunk-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome111', 'firefox115', 'safari16.4'],
  conditions: ['@svc/source'],
  mainFields: ['module', 'main'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});
const built = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }));
const named = (start, end) => built.find(({ name }) => name.startsWith(start) && name.endsWith(end)).name;
const page = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('{{script}}', `assets/${named('app-', '.js')}`)
  .replace('{{style}}', `assets/${named('style-', '.css')}`);
writeFileSync(join(dist, 'index.html'), page);
writeFileSync(join(dist, 'icon.svg'), readFileSync(join(here, 'src/icon.svg')));
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), thirdPartyNotices(here, Object.keys(metafile.inputs)));
