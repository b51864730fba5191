#!/usr/bin/env node
// Sets the version of everything that is released together: manifests, what they take of each other, the lock file, the constants in
// the sources and the OpenAPI documents; then generates, and removes the notes of .changeset, which are news in CHANGELOG.md by then.
//
//   node scripts/version.mjs VERSION
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documents, sourceOf } from './generate/documents.mjs';
import { repository } from './generate/run.mjs';

/** Sources that name the version, and the line that does. */
const CONSTANTS = {
  'packages/cli/src/cli/version.ts': /^(export const cliVersion = ')[^']+(';)$/m,
  'packages/sdk/src/config/version.ts': /^(export const sdkVersion = ')[^']+(';)$/m,
};
const DOCUMENT = /^( {2}version: )\S+()$/m;

/**
 * Returns the files that name the version, with the new one: path to text.
 * @param files path to text: manifests, lock file, constants, OpenAPI documents
 * @throws Error for a file that does not name a version where it should
 */
export function withVersion(files, version) {
  return new Map(
    [...files].map(([path, text]) => {
      if (path.endsWith('package.json')) return [path, json(manifest(JSON.parse(text), version))];
      if (path === 'package-lock.json') return [path, json(lock(JSON.parse(text), version))];
      const pattern = CONSTANTS[path] ?? DOCUMENT;
      if (!pattern.test(text)) throw new Error(`${path} does not name its version`);
      return [path, text.replace(pattern, `$1${version}$2`)];
    }),
  );
}

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** Sets the version, and that of the siblings that a manifest takes exactly. */
function manifest(read, version) {
  const set = { ...read, version };
  for (const field of ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'])
    for (const [name, range] of Object.entries(read[field] ?? {}))
      if (name.startsWith('@svc/') && range === read.version) set[field] = { ...set[field], [name]: version };
  return set;
}

/** The packages of this repository are those that do not lie in `node_modules`. */
function lock(read, version) {
  const packages = Object.entries(read.packages).map(([path, entry]) => [
    path,
    path.includes('node_modules/') || entry.version === undefined ? entry : manifest(entry, version),
  ]);
  return { ...read, version, packages: Object.fromEntries(packages) };
}

function main(version) {
  const read = (path) => readFileSync(join(repository, path), 'utf8');
  if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) {
    console.error('usage: node scripts/version.mjs VERSION, such as 0.2.0');
    process.exit(2);
  }
  if (!read('CHANGELOG.md').includes(`\n## ${version}\n`)) {
    console.error(
      `CHANGELOG.md has no section "## ${version}": write it first, from the files of .changeset.`,
    );
    process.exit(1);
  }
  const list = (directory, end) =>
    readdirSync(join(repository, directory))
      .filter((name) => name.endsWith(end))
      .map((name) => `${directory}/${name}`);
  const paths = [
    'package.json',
    'package-lock.json',
    'examples/package.json',
    ...list('packages', '')
      .map((folder) => `${folder}/package.json`)
      .filter((path) => existsSync(join(repository, path))),
    ...Object.keys(CONSTANTS),
    ...documents.map(sourceOf),
  ];
  const files = withVersion(new Map(paths.map((path) => [path, read(path)])), version);
  for (const [path, text] of files) writeFileSync(join(repository, path), text);
  execFileSync('npm', ['run', 'generate', '--silent'], { cwd: repository, stdio: 'inherit' });
  for (const note of list('.changeset', '.md').filter((path) => !path.endsWith('README.md')))
    rmSync(join(repository, note));
  console.log(`${files.size} files name ${version} now.`);
}

if (import.meta.filename === process.argv[1]) main(process.argv[2]);
