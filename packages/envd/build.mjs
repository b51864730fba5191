// Bundles the daemon: a loader, the two parts of the program, V8's code cache for this Node, and the native add-ons, in one folder.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { thirdPartyNotices } from '../../scripts/third-party.mjs';
import { copyAddons } from './addons.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const dist = join(here, 'dist');

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

copyAddons();

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

// What no start needs, or only some of them (the loader names what it wants early), loads with its first use. Imports become
// properties of a module whose getters load it.
const LATE = [
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:os',
  'node:stream/promises',
  'node:timers/promises',
  'node:tls',
  'node:tty',
  'node:zlib',
];
const builtinsOnFirstUse = {
  name: 'builtins-on-first-use',
  setup(bundle) {
    bundle.onResolve({ filter: /^node:/ }, ({ path, namespace }) =>
      LATE.includes(path) && namespace !== 'late' ? { path, namespace: 'late' } : { path, external: true },
    );
    bundle.onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
      contents: `let loaded;
        const load = () => (loaded ??= require('${path}'));
        for (const name of ${JSON.stringify(Object.keys(require(path)))})
          Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] });`,
      loader: 'js',
    }));
  },
};

const shared = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  conditions: ['@svc/source'],
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
};

// The loader compiles the parts as scripts, which cannot import, and reads them as Latin-1.
const part = {
  ...shared,
  charset: 'ascii',
  supported: { 'dynamic-import': false },
  banner: { js: '(function(exports,require,module,__filename,__dirname){' },
  footer: { js: '})' },
  metafile: true,
  plugins: [xattrBesideBundle, builtinsOnFirstUse],
};
const parts = { core: join(dist, 'core.cjs'), services: join(dist, 'services.cjs') };
const built = [
  await build({ ...part, entryPoints: [join(here, 'src/main.ts')], outfile: parts.core }),
  await build({
    ...part,
    entryPoints: [join(here, 'src/services.ts')],
    outfile: parts.services,
    inject: [join(here, 'src/http/headers.ts')],
  }),
];
await build({
  ...shared,
  entryPoints: [join(here, 'src/startup/loader.ts')],
  outfile: join(dist, 'envd.cjs'),
  define: { DIGESTS: JSON.stringify({ core: digest(parts.core), services: digest(parts.services) }) },
});
// The add-ons are no input of the bundle: the packages that hold them are named here.
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const addons = ['@lydell/node-pty', '@napi-rs/xattr'].map((name) => require.resolve(`${name}/package.json`));
writeFileSync(
  join(dist, 'THIRD-PARTY-LICENSES.txt'),
  thirdPartyNotices(process.cwd(), [...inputs, ...addons]),
);
execFileSync(process.execPath, [join(dist, 'envd.cjs'), '--write-code-cache'], { stdio: 'inherit' });

if (process.argv.includes('--explain')) {
  const inputs = built.flatMap(({ metafile }) => Object.entries(Object.values(metafile.outputs)[0].inputs));
  inputs.sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
  for (const [path, { bytesInOutput }] of inputs.slice(0, 40)) console.log(bytesInOutput, path);
}

function digest(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);
}
