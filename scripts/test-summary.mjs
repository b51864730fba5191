// Adds up what each package's tests left in test-results.json (and test-results-node-*.json, on other versions), names what failed, and prints the closing line.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const option = (name) => Number(process.argv[process.argv.indexOf(name) + 1] ?? 0);
const checksFailed = option('--checks-failed');
const runnerFailed = option('--runner-failed');

const folders = [...readdirSync('packages').map((name) => join('packages', name)), 'examples'];
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const missing = [];

console.log('\n== Summary');
for (const folder of folders) {
  if (!existsSync(join(folder, 'vitest.config.ts'))) continue;
  if (!existsSync(join(folder, 'test-results.json'))) missing.push(folder);
  for (const file of readdirSync(folder)) {
    const [, version] = /^test-results(?:-node-(\w+))?\.json$/.exec(file) ?? [undefined, null];
    if (version !== null) addUp(folder, file, version === undefined ? folder : `${folder}, Node ${version}`);
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

for (const folder of missing) failures.push(`${folder}: left no results: its test run broke`);
if (checksFailed > 0) failures.push(`${checksFailed} of the checks before the tests (see above)`);
if (runnerFailed && failures.length === 0) failures.push('the test runner itself (see above)');
total.failed += missing.length + checksFailed;
if (failures.length > 0 && total.failed === 0) total.failed = 1;

if (failures.length > 0) console.log(`\nFailed:\n${failures.map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;
