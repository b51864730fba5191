// Bundles the daemon into one file and puts the native terminal add-ons beside it.
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const dist = join(here, 'dist');

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

const result = await build({
  entryPoints: [join(here, 'src/main.ts')],
  outfile: join(dist, 'envd.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  conditions: ['@svc/source'],
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

// The packages of other platforms are installed only there.
const addons = [];
for (const target of ['linux-x64', 'linux-arm64']) {
  const source = addonPath(target);
  if (!source) continue;
  copyFileSync(source, join(dist, `pty-${target}.node`));
  addons.push(target);
}
if (addons.length === 0) console.warn('no terminal add-on is installed: terminals will not work');

if (process.argv.includes('--explain')) {
  const inputs = Object.entries(Object.values(result.metafile.outputs)[0].inputs);
  inputs.sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
  for (const [path, { bytesInOutput }] of inputs.slice(0, 40)) console.log(bytesInOutput, path);
}

function addonPath(target) {
  try {
    const path = require.resolve(`@lydell/node-pty-${target}/pty.node`);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
