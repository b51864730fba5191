// The record of the long tiers: a line of docs/test-runs.md for each run, and the tiers that a commit still lacks.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './generate/run.mjs';

const PAGE = join(repository, 'docs/test-runs.md');
/** Tiers that a release needs green. */
const TIERS = ['nightly', 'release'];

const git = (...args) => execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim();

/** Appends a run. A tree with changes of its own is recorded as such, and counts for no commit. */
export function recordRun({ tier, passed, failed, skipped, minutes, failures }) {
  const changed = git('status', '--porcelain', '--', '.', ':!docs/test-runs.md') !== '';
  const cells = [
    new Date().toISOString().slice(0, 10),
    tier,
    `${git('rev-parse', '--short=12', 'HEAD')}${changed ? ' with changes' : ''}`,
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
    `${minutes} min`,
    failures.length === 0 ? 'none' : failures.map((line) => line.replaceAll('|', '/')).join('; '),
  ];
  appendFileSync(PAGE, `| ${cells.join(' | ')} |\n`);
}

/** Returns the tiers without a green run of this tree. The record itself may have changed since. */
export function missingTiers() {
  const green = readFileSync(PAGE, 'utf8')
    .split('\n')
    .map((line) => /^\| \S+ \| (\w+) \| ([0-9a-f]+) \| \d+ passed, 0 failed/.exec(line))
    .filter((match) => match !== null)
    .filter(([, , commit]) => isThisTree(commit))
    .map(([, tier]) => tier);
  return TIERS.filter((tier) => !green.includes(tier));
}

function isThisTree(commit) {
  const { status } = spawnSync('git', ['diff', '--quiet', commit, '--', '.', ':!docs/test-runs.md'], {
    cwd: repository,
  });
  return status === 0;
}
