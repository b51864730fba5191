// Bundles the process: one file that needs nothing beside it. `build-package.mjs` has made the entries for programs before.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { thirdPartyNotices } from '../../scripts/third-party.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/egress.cjs',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  conditions: ['@svc/source'],
  mainFields: ['module', 'main'],
  minify: true,
  keepNames: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});
// Everything that the entries for programs bundle is in here too.
writeFileSync(
  join(here, 'dist/THIRD-PARTY-LICENSES.txt'),
  thirdPartyNotices(here, Object.keys(metafile.inputs)),
);
