#!/usr/bin/env node
// Gets another version of Node through npm, to run tests with, and prints the directory that holds the program.
//
//   PATH=$(node scripts/node-runtime.mjs 24):$PATH npx vitest run
//
// Version and checksum are pinned in packages/runtime/assets/downloads.txt; nothing else is taken.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repository } from './generate/run.mjs';

const DOWNLOADS = 'packages/runtime/assets/downloads.txt';

/** The directory with `node` of a major version, fetched when it is not there yet. @throws Error that says why not */
export function nodeRuntime(major) {
  const lines = readFileSync(join(repository, DOWNLOADS), 'utf8').split('\n');
  const pinned = lines.map((line) => line.split(' ')).filter(([name]) => name?.startsWith('node-'));
  const found = pinned.find(([name, , processor]) => name === `node-${major}` && processor === process.arch);
  if (found === undefined || process.platform !== 'linux') {
    const known = [...new Set(pinned.map(([name, , processor]) => `${name.slice(5)} (${processor})`))].join(
      ', ',
    );
    throw new Error(
      `Node ${major} for ${process.platform} on ${process.arch} is not in ${DOWNLOADS}, which has ${known} for linux`,
    );
  }
  const [, version, , checksum, source] = found;
  const target = join(repository, 'node_modules/.cache/svc-node', `${version}-${process.arch}`);
  if (!existsSync(join(target, 'bin/node'))) fetchNode(source.replace('npm:', ''), version, checksum, target);
  return join(target, 'bin');
}

function fetchNode(name, version, checksum, target) {
  mkdirSync(dirname(target), { recursive: true });
  const draft = mkdtempSync(`${target}.`);
  try {
    const options = ['--json', '--ignore-scripts', '--prefer-offline', '--pack-destination', draft];
    const output = execFileSync('npm', ['pack', `${name}@${version}`, ...options], {
      cwd: draft,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [{ filename }] = Object.values(JSON.parse(output));
    const [algorithm, expected] = checksum.split(':');
    const sum = createHash(algorithm)
      .update(readFileSync(join(draft, filename)))
      .digest('hex');
    if (sum !== expected)
      throw new Error(
        `${name}@${version} has the ${algorithm} checksum ${sum}, not ${expected}: it is not used`,
      );
    execFileSync('tar', ['-xzf', join(draft, filename), '-C', draft, 'package/bin/node']);
    rmSync(target, { recursive: true, force: true });
    renameSync(join(draft, 'package'), target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

if (import.meta.filename === process.argv[1]) {
  try {
    console.log(nodeRuntime(process.argv[2]));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
