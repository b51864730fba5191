#!/usr/bin/env node
// Which tier runs which test file. The gate leaves the `nightly` patterns of test-tiers.json to the nightly tier, which runs
// everything; release-runs.txt names what runs with a switch, in the release tier.
//
//   node scripts/test-tiers.mjs          fails for a pattern without a file, or a switch that no run sets
//   node scripts/test-tiers.mjs --list   lists every test file and the tiers that run it
//   node scripts/test-tiers.mjs --folders gate|nightly|release   lists the folders that have a file in a tier
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { repository } from './generate/run.mjs';

/** Variables that make a test do more than in the nightly tier. */
const SWITCHES = /\bprocess\.env\.(SVC_HEAVY|SVC_GVISOR|SVC_SCREENSHOTS|SVC_TEST_MIRROR_RANGES)\b/;

const read = (path) => readFileSync(join(repository, path), 'utf8');
const { nightly, postgres } = JSON.parse(read('scripts/test-tiers.json'));
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.test.ts'], {
  cwd: repository,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(repository, path)));
const released = releaseRuns().flatMap(({ folder, files: own }) => own.map((file) => `${folder}/${file}`));

/** The lines of release-runs.txt. */
function releaseRuns() {
  return read('scripts/release-runs.txt')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('|').map((part) => part.trim()))
    .map(([folder, switches, rest]) => ({
      folder,
      switches,
      files: rest.split(' ').filter((word) => word.endsWith('.test.ts')),
    }));
}

/** The tiers of a file, the first that runs it before the others. */
function tiersOf(path) {
  const first = nightly.some((pattern) => matchesGlob(path, pattern)) ? ['nightly'] : ['gate', 'nightly'];
  return released.includes(path) ? [...first, 'release'] : first;
}

function problems() {
  const unmatched = [...nightly, ...postgres]
    .filter((pattern) => !files.some((path) => matchesGlob(path, pattern)))
    .map((pattern) => `scripts/test-tiers.json: no test file is ${pattern}`);
  const missing = released
    .filter((path) => !files.includes(path))
    .map((path) => `scripts/release-runs.txt: there is no ${path}`);
  const unset = files
    .filter((path) => SWITCHES.test(read(path)) && !released.includes(path))
    .map(
      (path) =>
        `${path} reads ${SWITCHES.exec(read(path))[1]}, which no line of scripts/release-runs.txt sets`,
    );
  const packages = files.filter((path) => !/^(packages\/[^/]+|examples)\/test\//.test(path));
  return [
    ...unmatched,
    ...missing,
    ...unset,
    ...packages.map((path) => `${path} is in no folder that a tier runs`),
  ];
}

const folders = process.argv.indexOf('--folders');
if (folders !== -1) {
  const tier = process.argv[folders + 1] === 'gate' ? 'gate' : 'nightly';
  const own = files.filter((path) => tiersOf(path).includes(tier)).map((path) => path.split('/test/')[0]);
  console.log([...new Set(own)].sort().join('\n'));
} else if (process.argv.includes('--list')) {
  for (const path of files) console.log(`${tiersOf(path).join(' ').padEnd(22)} ${path}`);
} else {
  const found = problems();
  for (const problem of found) console.error(problem);
  process.exitCode = found.length > 0 ? 1 : 0;
}
