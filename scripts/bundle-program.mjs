// Bundles a program into one file that needs nothing beside it, and writes the licenses of what is in it to dist.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { thirdPartyNotices } from './third-party.mjs';

/**
 * @param {string} script address of the script of the package that asks: `import.meta.url`. Paths are from its folder.
 * @param {{ entry: string, outfile: string, format: 'esm' | 'cjs' }} program
 */
export async function bundleProgram(script, { entry, outfile, format }) {
  const here = dirname(fileURLToPath(script));
  const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile,
    format,
    bundle: true,
    platform: 'node',
    target: 'node20',
    conditions: ['@svc/source'],
    mainFields: ['module', 'main'],
    minify: true,
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  });
  writeFileSync(
    join(here, 'dist/THIRD-PARTY-LICENSES.txt'),
    thirdPartyNotices(here, Object.keys(metafile.inputs)),
  );
}
