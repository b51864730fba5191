import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkHost } from '@svc/runtime/host';
import type { CaseResult } from '../wire/recorder.js';
import { readRpcOutcomes } from './rpc-outcomes.js';
import { renderCoverage } from './table.js';
import { renderTiers } from './tiers.js';

/**
 * Writes `coverage.md` from the answers that a run of the suite on both drivers recorded, and fails when an answer that a document
 * lists has neither a passing case nor a reason. With `SVC_CONFORMANCE_RECORD` naming a directory that a run has filled already,
 * nothing runs again. With `--gvisor` the suite runs on gVisor alone, and `coverage-gvisor.md` is written. Neither file is committed.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const gvisor = process.argv.includes('--gvisor');
const files = gvisor ? ['test/gvisor.test.ts'] : ['test/linux.test.ts', 'test/process.test.ts'];
const given = process.env.SVC_CONFORMANCE_RECORD;
const directory = given ?? mkdtempSync(path.join(tmpdir(), 'svc-coverage-'));
if (given === undefined) {
  const { status } = spawnSync('npx', ['vitest', 'run', ...files], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      SVC_CONFORMANCE_RECORD: directory,
      ...(gvisor ? { SVC_GVISOR: '1' } : {}),
    },
  });
  if (status !== 0) process.exitCode = 1;
}
const runs = readdirSync(directory)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .map((file) => ({
    target: path.basename(file, '.json'),
    results: JSON.parse(readFileSync(path.join(directory, file), 'utf8')) as CaseResult[],
  }));
const recordedAt = new Date(
  Math.max(...readdirSync(directory).map((file) => statSync(path.join(directory, file)).mtimeMs)),
);
if (given === undefined) rmSync(directory, { recursive: true });
if (gvisor) await writeTiers();
else writeCoverage();

async function writeTiers(): Promise<void> {
  const results = runs.find(({ target }) => target === 'gvisor')?.results;
  if (results === undefined) {
    fail('coverage-gvisor.md is not written: the suite did not run on gVisor.', []);
    return;
  }
  const findings = await checkHost({ isolation: 'gvisor' });
  const runsc =
    findings.find(({ id }) => id === 'gvisor')?.message.replace(/^.*runsc |\.$/g, '') ?? 'unknown';
  const run = { day: recordedAt.toISOString().slice(0, 10), runsc, kernel: release().replace(/-.*/, '') };
  writeFileSync(path.join(root, 'coverage-gvisor.md'), renderTiers(run, results));
}

function writeCoverage(): void {
  const { text, open, missing, unlisted } = renderCoverage(runs, readRpcOutcomes());
  writeFileSync(path.join(root, 'coverage.md'), text);
  console.log(
    `packages/conformance/coverage.md: ${runs.map(({ target, results }) => `${results.length} cases on ${target}`).join(', ')}`,
  );
  if (open.length > 0) fail('Neither a passing case nor a reason:', open);
  if (runs.length < 2) {
    console.log('Outcomes of RPCs are not compared: not every driver ran here.');
    return;
  }
  if (missing.length > 0) fail('No passing case, though rpc-outcomes.txt lists it:', missing);
  if (unlisted.length > 0) fail('A passing case saw it, and rpc-outcomes.txt has no line for it:', unlisted);
}

function fail(reason: string, lines: readonly string[]): void {
  console.error([reason, ...lines.map((line) => `  ${line}`)].join('\n'));
  process.exitCode = 1;
}
