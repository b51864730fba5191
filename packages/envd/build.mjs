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

// The packages of other platforms are installed only there, so a build carries what its machine has.
const TARGETS = ['linux-x64', 'linux-arm64'];
copyAddons('pty', (target) => `@lydell/node-pty-${target}/pty.node`);
copyAddons('xattr', (target) => `@napi-rs/xattr-${target}-gnu/xattr.${target}-gnu.node`);

// The package's own loader tries every platform; the bundle knows where its add-on lies.
const xattrBesideBundle = {
  name: 'xattr-beside-bundle',
  setup(bundle) {
    bundle.onResolve({ filter: /^@napi-rs\/xattr$/ }, () => ({ path: 'xattr', namespace: 'addon' }));
    bundle.onLoad({ filter: /.*/, namespace: 'addon' }, () => ({
      contents: 'module.exports = require(`${__dirname}/xattr-${process.platform}-${process.arch}.node`);',
      loader: 'js',
    }));
  },
};

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
  plugins: [xattrBesideBundle],
  logLevel: 'warning',
});

if (process.argv.includes('--explain')) {
  const inputs = Object.entries(Object.values(result.metafile.outputs)[0].inputs);
  inputs.sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
  for (const [path, { bytesInOutput }] of inputs.slice(0, 40)) console.log(bytesInOutput, path);
}

function copyAddons(name, specifier) {
  const found = TARGETS.filter((target) => {
    const source = resolveFile(specifier(target));
    if (source) copyFileSync(source, join(dist, `${name}-${target}.node`));
    return source !== undefined;
  });
  if (found.length === 0) console.warn(`the ${name} add-on is not installed: what needs it will not work`);
}

function resolveFile(specifier) {
  try {
    const path = require.resolve(specifier);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
