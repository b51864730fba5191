#!/usr/bin/env node
// Makes a Debian package of a release: the service, `svc`, both units of systemd, and the Node that runs this script, since no
// Debian before 13 has one that is new enough. It is for this machine's architecture.
//
//   node scripts/deb.mjs OUTPUT_DIRECTORY --release DIRECTORY [--modules DIRECTORY] [--compression xz|gzip|none]
//
// --release: what scripts/release.mjs made. --modules: a node_modules into which that was installed; npm installs it otherwise.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repository } from './generate/run.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    release: { type: 'string' },
    modules: { type: 'string' },
    compression: { type: 'string', default: 'xz' },
  },
});
if (positionals.length !== 1 || values.release === undefined) {
  console.error('usage: node scripts/deb.mjs OUTPUT_DIRECTORY --release DIRECTORY [--modules DIRECTORY]');
  process.exit(2);
}

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`There is no package for ${process.arch}.`);
const assets = join(repository, 'scripts/deb');
const PROGRAMS = {
  svc: '@svc/cli/bin/svc.js',
  'svc-server': '@svc/server/bin/svc-server.js',
  'svc-runtime': '@svc/server/bin/svc-runtime.js',
};

const work = mkdtempSync(join(tmpdir(), 'svc-deb-'));
try {
  const root = join(work, 'root');
  const library = join(root, 'usr/lib/svc');
  mkdirSync(library, { recursive: true });
  const modules = values.modules ?? installed();
  const { version, license, homepage } = JSON.parse(
    readFileSync(join(modules, '@svc/cli/package.json'), 'utf8'),
  );
  cpSync(modules, join(library, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  cpSync(process.execPath, join(library, 'node'));
  for (const [name, program] of Object.entries(PROGRAMS))
    write(
      `usr/bin/${name}`,
      `#!/bin/sh\nexec /usr/lib/svc/node /usr/lib/svc/node_modules/${program} "$@"\n`,
      0o755,
    );
  for (const unit of ['svc.service', 'svc-runtime.service'])
    write(`usr/lib/systemd/system/${unit}`, unitOf(readFileSync(join(repository, 'docs', unit), 'utf8')));
  for (const name of ['server.env', 'runtime.env'])
    write(`etc/svc/${name}`, readFileSync(join(assets, name), 'utf8'), 0o600);
  write('usr/share/doc/svc/copyright', copyright(license, homepage));
  tidy(root);
  control(root, version, homepage);
  const file = join(resolve(positionals[0]), `svc_${version}_${architecture}.deb`);
  mkdirSync(resolve(positionals[0]), { recursive: true });
  execFileSync('dpkg-deb', ['--root-owner-group', `-Z${values.compression}`, '--build', root, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  console.log(file);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Returns the directory that npm installs of the release's tarballs. */
function installed() {
  const project = join(work, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  const tarballs = readdirSync(values.release).filter((file) => file.endsWith('.tgz'));
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=dev'];
  execFileSync('npm', ['install', ...options, ...tarballs.map((file) => resolve(values.release, file))], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return join(project, 'node_modules');
}

/** The units of the documentation say how to install them by hand, and find the programs by the path. */
function unitOf(text) {
  const start = text.indexOf('[Unit]');
  return `# Settings: /etc/svc. Changes of this unit: systemctl edit.\n${text.slice(start).replaceAll('/usr/bin/env svc-', '/usr/bin/svc-')}`;
}

function copyright(license, homepage) {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: ${homepage}

Files: *
Copyright: The svc authors
License: ${license}
 On Debian the text of the Apache License 2.0 is /usr/share/common-licenses/Apache-2.0. Packages below
 /usr/lib/svc/node_modules, and Node itself, have licenses of their own, which stand beside them or in their manifests.
`;
}

function write(path, text, mode = 0o644) {
  const file = join(root(), path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

function root() {
  return join(work, 'root');
}

/** Nobody but root may write, everybody may read, and only what was to be run is. */
function tidy(directory) {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isOwn = path.startsWith(join(root(), 'etc/svc/'));
    const executable = entry.isDirectory() || (lstatSync(path).mode & 0o111) !== 0;
    if (!isOwn || entry.isDirectory()) chmodSync(path, executable ? 0o755 : 0o644);
  }
  chmodSync(root(), 0o755);
}

function control(directory, version, homepage) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  const kib = Math.ceil(paths.reduce((sum, path) => sum + lstatSync(path).size, 0) / 1024);
  const md5 = (path) => createHash('md5').update(readFileSync(path)).digest('hex');
  const sums = paths
    .map((path) => path.slice(directory.length + 1))
    .filter((path) => !path.startsWith('etc/'))
    .sort()
    .map((path) => `${md5(join(directory, path))}  ${path}\n`);
  const fields = readFileSync(join(assets, 'control'), 'utf8')
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', String(kib))
    .replace('@HOMEPAGE@', homepage);
  write('DEBIAN/control', fields);
  write('DEBIAN/md5sums', sums.join(''));
  write('DEBIAN/conffiles', '/etc/svc/runtime.env\n/etc/svc/server.env\n');
  for (const script of ['postinst', 'prerm', 'postrm'])
    write(`DEBIAN/${script}`, readFileSync(join(assets, `${script}.sh`), 'utf8'), 0o755);
}
