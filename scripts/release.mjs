#!/usr/bin/env node
// Makes what a release consists of, and publishes nothing: a tarball for each package, a software bill of materials
// (CycloneDX), and the checksums of all of them.
//
//   node scripts/release.mjs DIRECTORY [--no-build] [--untested]
//
// It refuses a tree whose nightly and release tiers are not green in docs/test-runs.md; `--untested` packs it all the same.
//
// Publishing is `npm publish DIRECTORY/*.tgz` by whoever holds the account.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
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
import { repository, runTool } from './generate/run.mjs';
import { packTo } from './pack-consumer.mjs';
import { problemsOfManifest, publishablePackages } from './publishable.mjs';
import { missingTiers } from './test-runs.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'no-build': { type: 'boolean', default: false },
    untested: { type: 'boolean', default: false },
  },
});
if (positionals.length !== 1) {
  console.error('usage: node scripts/release.mjs DIRECTORY [--no-build] [--untested]');
  process.exit(2);
}
const untried = values.untested ? [] : missingTiers();
if (untried.length > 0) {
  console.error(
    `This tree has no green run of: ${untried.join(', ')}. Run ./scripts/test.sh --${untried[0]} and commit docs/test-runs.md.`,
  );
  process.exit(1);
}
const directory = resolve(positionals[0]);
mkdirSync(directory, { recursive: true });
if (readdirSync(directory).length > 0) {
  console.error(
    `${directory} is not empty. Give an empty directory, so that a release holds nothing of another one.`,
  );
  process.exit(2);
}

const names = publishablePackages();
if (!values['no-build'])
  runTool('turbo', ['run', 'build', ...names.map((name) => `--filter=@svc/${name}`), '--concurrency=2']);
// The same as npm's `prepack` at `npm publish`: the daemon for every platform.
execFileSync(process.execPath, [join(repository, 'packages/envd/build.mjs'), '--all'], { stdio: 'inherit' });

const problems = [];
for (const name of names) {
  const { tarball, files } = packTo(directory, name);
  const paths = files.map((file) => file.path);
  problems.push(...problemsOfManifest(name, paths).map((problem) => `packages/${name}: ${problem}`));
  console.log(tarball);
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}

const bill = join(directory, 'sbom.cdx.json');
writeFileSync(bill, `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
console.log(bill);
const sums = readdirSync(directory)
  .sort()
  .map(
    (file) =>
      `${createHash('sha256')
        .update(readFileSync(join(directory, file)))
        .digest('hex')}  ${file}\n`,
  );
writeFileSync(join(directory, 'SHA256SUMS'), sums.join(''));

/** Returns the bill of the published packages: their dependencies in the locked versions, and the packages that are built into them. */
function billOfMaterials() {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'));
  const bill = JSON.parse(inStrippedCopy(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']));
  // npm names the root after the directory that it lies in.
  bill.metadata.component.name = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).name;
  const known = new Set(bill.components.map((component) => component['bom-ref']));
  for (const name of names) {
    const notices = join(repository, 'packages', name, 'dist/THIRD-PARTY-LICENSES.txt');
    if (!existsSync(notices)) continue;
    const heads = readFileSync(notices, 'utf8').matchAll(/^==== (\S+) (\S+) \((.*)\)$/gm);
    for (const [, bundled, version, kind] of heads) {
      const reference = `${bundled}@${version}`;
      if (known.has(reference)) continue;
      known.add(reference);
      const locked = kind === 'a module of Go' ? 'golang' : lock.packages[`node_modules/${bundled}`];
      bill.components.push(bundledComponent(reference, bundled, version, locked));
    }
  }
  return bill;
}

/**
 * Runs npm beside the published manifests alone, without what only development needs. (`npm sbom --omit dev` in the
 * repository leaves out what is needed for development too.)
 */
function inStrippedCopy(args) {
  const copy = mkdtempSync(join(tmpdir(), 'svc-sbom-'));
  const npm = (words) =>
    execFileSync('npm', words, {
      cwd: copy,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 2 ** 20,
    });
  try {
    cpSync(join(repository, 'package-lock.json'), join(copy, 'package-lock.json'));
    const root = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
    const write = (path, { devDependencies, ...manifest }) => {
      mkdirSync(join(copy, path), { recursive: true });
      writeFileSync(join(copy, path, 'package.json'), JSON.stringify(manifest));
    };
    write('.', { ...root, workspaces: ['packages/*'] });
    for (const name of names)
      write(
        join('packages', name),
        JSON.parse(readFileSync(join(repository, 'packages', name, 'package.json'), 'utf8')),
      );
    npm([
      'install',
      '--package-lock-only',
      '--ignore-scripts',
      '--prefer-offline',
      '--no-audit',
      '--loglevel=error',
    ]);
    return npm(args);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function bundledComponent(reference, name, version, locked) {
  const integrity = /^sha512-(.+)$/.exec(locked?.integrity ?? '')?.[1];
  return {
    'bom-ref': reference,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl:
      locked === 'golang'
        ? `pkg:golang/${name}@${version}`
        : `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(integrity === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity, 'base64').toString('hex') }] }),
    ...(locked?.license === undefined ? {} : { licenses: [{ expression: locked.license }] }),
  };
}
