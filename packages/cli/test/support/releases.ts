import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../../', import.meta.url));

/** Packs a release of what is built here into `directory`. */
export async function packRelease(directory: string): Promise<void> {
  await run(process.execPath, [
    join(repository, 'scripts/release.mjs'),
    directory,
    '--no-build',
    '--untested',
  ]);
}

/** Changes a text of an unpacked package; fails where there is nothing to change. */
export type Edit = { package: string; file: string; find: string | RegExp; replace: string };

/** A step of the schema that no version has. */
export function addsStep(id: string): Edit {
  return {
    package: 'server',
    file: 'dist/storage/migrations/index.js',
    find: /\n\];/,
    replace: `\n    { id: '${id}', statements: () => ['create table probe_${id.replace(/\D/g, '')} (value text)'] },\n];`,
  };
}

/** Makes a release of another version of one that was packed, with the same program but for the edits. */
export async function makeVersion(
  from: string,
  to: string,
  version: string,
  edits: readonly Edit[] = [],
): Promise<void> {
  await mkdir(to, { recursive: true });
  const work = await mkdtemp(join(to, 'work-'));
  let sums = '';
  for (const tarball of (await readdir(from)).filter((name) => name.endsWith('.tgz'))) {
    const directory = join(work, 'package');
    await run('tar', ['-xzf', join(from, tarball), '-C', work]);
    const manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
    manifest.version = version;
    for (const name of Object.keys(manifest.dependencies ?? {}))
      if (name.startsWith('@svc/')) manifest.dependencies[name] = version;
    await writeFile(join(directory, 'package.json'), JSON.stringify(manifest, null, 2));
    const said: Edit = {
      package: 'cli',
      file: 'dist/cli/version.js',
      find: /'[^']*'/,
      replace: `'${version}'`,
    };
    for (const edit of [said, ...edits])
      if (manifest.name === `@svc/${edit.package}`) await apply(directory, edit);
    const name = tarball.replace(/-[^-]*\.tgz$/, `-${version}.tgz`);
    await run('tar', ['-czf', join(to, name), '-C', work, 'package']);
    await rm(directory, { recursive: true });
    sums += `${createHash('sha256')
      .update(await readFile(join(to, name)))
      .digest('hex')}  ${name}\n`;
  }
  await rm(work, { recursive: true });
  await writeFile(join(to, 'SHA256SUMS'), sums);
}

async function apply(directory: string, { file, find, replace }: Edit): Promise<void> {
  const path = join(directory, file);
  const before = await readFile(path, 'utf8');
  const after = before.replace(find, replace);
  if (after === before) throw new Error(`${file} has nothing like ${find}`);
  await writeFile(path, after);
}
