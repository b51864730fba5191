#!/usr/bin/env node
// Tries whether the gate finds faults: puts each of scripts/faults.json into a source file, runs the gate's tests that should notice,
// and puts the file back. Prints a table, and fails when fewer are found than the share that is wanted.
//
//   node scripts/faults.mjs [WORD...]   only faults whose area or file has one of the words; takes half an hour for all
//
// A fault that nothing finds is a test that is missing: write it, rather than take the fault off the list.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository, runTool } from './generate/run.mjs';

/** Of all faults, those that the gate has to find. */
const WANTED = 0.9;
/** A fault may make a test wait for what never comes. */
const LIMIT_MS = 240_000;

const words = process.argv.slice(2);
const faults = JSON.parse(readFileSync(join(repository, 'scripts/faults.json'), 'utf8')).filter(
  ({ area, file }) => words.length === 0 || words.some((word) => area === word || file.includes(word)),
);

let restore = () => {};
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    restore();
    process.exit(1);
  });

const rows = faults.map((fault) => ({ ...fault, foundBy: find(fault) }));
const found = rows.filter(({ foundBy }) => foundBy !== undefined).length;
console.log('\n| Area | File | Fault | Found by |\n|---|---|---|---|');
for (const { area, file, from, to, foundBy } of rows)
  console.log(`| ${area} | ${file} | \`${shown(from)}\` -> \`${shown(to)}\` | ${foundBy ?? '**nothing**'} |`);
console.log(`\n${found} of ${rows.length} faults are found by the gate.`);
process.exitCode = found >= rows.length * WANTED ? 0 : 1;

/** Returns the run of tests that fails with a fault; undefined when all pass. */
function find({ file, from, to, runs }) {
  const path = join(repository, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) throw new Error(`${file} does not have exactly once: ${from}`);
  restore = () => writeFileSync(path, source);
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  try {
    return runs.find((run) => !passes(run));
  } finally {
    restore();
    if (file.startsWith('packages/envd/')) buildDaemon();
  }
}

/** @param run a package, then arguments of Vitest */
function passes(run) {
  const [name, ...args] = run.split(' ');
  if (name === 'conformance') buildDaemon();
  const { status } = spawnSync(
    process.execPath,
    [
      join(repository, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...(name === 'server' ? ['--project', 'sqlite'] : []),
      '--bail',
      '1',
      ...args,
    ],
    {
      cwd: join(repository, 'packages', name),
      env: { ...process.env, SVC_TIER: 'gate', SVC_TEST_RESULTS: 'test-results-with-fault.json' },
      stdio: 'ignore',
      timeout: LIMIT_MS,
    },
  );
  return status === 0;
}

/** Sandboxes run the daemon as it was built. */
function buildDaemon() {
  runTool('turbo', ['run', 'build', '--filter=@svc/envd', '--output-logs=errors-only']);
}

function shown(text) {
  return text
    .replaceAll('\n', ' ')
    .replaceAll('|', '\\|')
    .replaceAll('`', "'")
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, 70);
}
