import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

/**
 * Bundles a module of this package from its sources, so that another Node can run it without a build. The file is in a
 * new directory inside the package, where the package finds its own assets; the caller removes the directory.
 * @param entry relative to the package.
 */
export async function bundleModule(
  entry: string,
  name: string,
): Promise<{ directory: string; file: string }> {
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(join(cache, 'bundle-'));
  const file = join(directory, name);
  await build({
    entryPoints: [fileURLToPath(new URL(`../../${entry}`, import.meta.url))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  return { directory, file };
}
