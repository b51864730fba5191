// The packages that are published, and what their manifests must say.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { repository } from './generate/run.mjs';

const read = (path) => JSON.parse(readFileSync(join(repository, path, 'package.json'), 'utf8'));

/** Folder names of the published packages, those that others stand on first. */
export function publishablePackages() {
  const manifests = readdirSync(join(repository, 'packages'))
    .filter((name) => existsSync(join(repository, 'packages', name, 'package.json')))
    .map((name) => ({ name, manifest: read(`packages/${name}`) }))
    .filter(({ manifest }) => !manifest.private);
  const ordered = [];
  const add = ({ name, manifest }) => {
    if (ordered.includes(name)) return;
    for (const other of manifests) if (manifest.dependencies?.[other.manifest.name]) add(other);
    ordered.push(name);
  };
  for (const each of manifests) add(each);
  return ordered;
}

/**
 * Returns the problems of a published package's manifest and folder.
 * @param files paths in the tarball
 */
export function problemsOfManifest(name, files) {
  const root = read('.');
  const manifest = read(`packages/${name}`);
  const problems = [];
  for (const field of ['license', 'author', 'homepage', 'bugs', 'engines'])
    if (!isDeepStrictEqual(manifest[field], root[field]))
      problems.push(`${field} is not that of the repository's package.json`);
  if (!isDeepStrictEqual(manifest.repository, { ...root.repository, directory: `packages/${name}` }))
    problems.push(
      `repository is not that of the repository's package.json, with "directory": "packages/${name}"`,
    );
  for (const field of ['description', 'keywords', 'files'])
    if (!(manifest[field]?.length > 0)) problems.push(`${field} is missing`);
  if (manifest.publishConfig?.access !== 'public') problems.push('publishConfig.access is not public');
  for (const file of ['LICENSE', 'README.md'])
    if (!files.includes(file)) problems.push(`the tarball has no ${file}`);
  for (const target of targetsOf([manifest.exports, manifest.imports, manifest.bin])) {
    const [start, end = ''] = target.split('*');
    const found = files.some(
      (file) => file === target || (target !== start && file.startsWith(start) && file.endsWith(end)),
    );
    if (!found) problems.push(`the tarball lacks ${target}, which the manifest names`);
  }
  for (const [dependency, range] of Object.entries(manifest.dependencies ?? {}))
    if (dependency.startsWith('@svc/') && range !== manifest.version)
      problems.push(`${dependency} is wanted in ${range}: packages of one release take each other's version`);
  const license = join(repository, 'packages', name, 'LICENSE');
  if (
    !existsSync(license) ||
    readFileSync(license, 'utf8') !== readFileSync(join(repository, 'LICENSE'), 'utf8')
  )
    problems.push("LICENSE is not the repository's");
  return problems;
}

/** The files that a conditional map names, but for the sources that only this repository has. */
function targetsOf(value, condition = '') {
  if (condition === '@svc/source') return [];
  if (typeof value === 'string') return value.startsWith('./') ? [value.slice(2)] : [];
  return Object.entries(value ?? {}).flatMap(([key, inner]) => targetsOf(inner, key));
}
