// Adds up what each package's tests left in test-results.json (and test-results-node-*.json, on other versions), says where the time
// went, names what failed and what took too long, and prints the closing line.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { recordRun } from './test-runs.mjs';
import {
  compareTimes,
  describeTimes,
  overBudget,
  RESULTS,
  readBudgets,
  readFiles,
  readJobs,
} from './test-times.mjs';

const option = (name) => process.argv[process.argv.indexOf(name) + 1];
const checksFailed = Number(option('--checks-failed'));
const runnerFailed = Number(option('--runner-failed'));
/** Budgets are those of the gate: other tiers run more in each file. */
const isGate = process.env.SVC_TIER === 'gate';
const TIMES = 'test-times.json';
const FORMER_TIMES = 'test-times.previous.json';

/** The folders whose tests were to run. */
const folders = option('--folders').split('\n');
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const missing = [];

const run = { tier: process.env.SVC_TIER, files: readFiles(folders), jobs: readJobs(option('--jobs')) };
console.log(`\n== Times\n${describeTimes(run).join('\n')}`);
keepTimes();

console.log('\n== Summary');
for (const folder of folders) {
  if (!existsSync(join(folder, 'test-results.json'))) missing.push(folder);
  for (const file of readdirSync(folder)) {
    const match = RESULTS.exec(file);
    if (match !== null) addUp(folder, file, match[1] === undefined ? folder : `${folder}, ${match[1]}`);
  }
}

function addUp(folder, file, name) {
  const results = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of results.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status === 'passed') counts.passed++;
      else if (test.status === 'failed') {
        counts.failed++;
        failures.push(`${name}: ${test.fullName}`, ...reasons(test.failureMessages));
      } else counts.skipped++;
    }
    // A file that broke before its first test has no failed test to count.
    if (suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed')) {
      counts.failed++;
      failures.push(`${name}: ${suite.name}`, ...reasons([suite.message]));
    }
  }
  console.log(
    `${name.padEnd(24)} ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
  );
  for (const key of Object.keys(total)) total[key] += counts[key];
}

/** Why it failed, for whoever sees only the end of the output: the first lines of each message without foreign frames. */
function reasons(messages) {
  const foreign = /^ +at .*\/node_modules\//;
  const lines = (message) =>
    stripVTControlCharacters(String(message))
      .split('\n')
      .filter((line) => line !== '' && !foreign.test(line))
      .slice(0, 12);
  return messages.flatMap(lines).map((line) => `    ${line.slice(0, 300)}`);
}

/** Keeps the run for the next one, and says what changed since the last of the same tier. */
function keepTimes() {
  if (existsSync(TIMES)) {
    const former = JSON.parse(readFileSync(TIMES, 'utf8'));
    if (former.tier === run.tier)
      console.log(`\n== Since the last run\n${compareTimes(former, run).join('\n')}`);
    renameSync(TIMES, FORMER_TIMES);
  }
  writeFileSync(TIMES, JSON.stringify(run));
}

const { pace, judged, over } = overBudget(run.files, isGate ? readBudgets() : {});
const tooSlow = isGate ? over : [];
const slow = tooSlow.map(
  ({ name, seconds, allowed }) =>
    `${name} took ${seconds.toFixed(1)} s, and may take ${allowed.toFixed(1)} at the pace of this run. Find what became slow; scripts/test-budgets.json has its budget.`,
);
if (judged) failures.push(...slow);
else if (slow.length > 0)
  console.log(
    `\nThis machine is slow or busy (pace ${pace.toFixed(1)}), so that nobody is blamed:\n${slow.map((line) => `  ${line}`).join('\n')}`,
  );
for (const folder of missing) failures.push(`${folder}: left no results: its test run broke`);
if (checksFailed > 0) failures.push(`${checksFailed} of the checks before the tests (see above)`);
if (runnerFailed && failures.length === 0) failures.push('the test runner itself (see above)');
total.failed += missing.length + checksFailed + (judged ? slow.length : 0);
if (failures.length > 0 && total.failed === 0) total.failed = 1;

if (failures.length > 0) console.log(`\nFailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
if (!isGate) {
  const minutes = Math.round(Number(option('--seconds')) / 60);
  recordRun({
    ...total,
    tier: process.env.SVC_TIER,
    minutes,
    failures: failures.filter((line) => !line.startsWith(' ')),
  });
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;
