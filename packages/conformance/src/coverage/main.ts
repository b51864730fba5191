import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkHost } from '@svc/runtime';
import type { CaseResult } from '../wire/recorder.js';
import { changedCells, renderCoverage } from './table.js';
import { renderTiers } from './tiers.js';

/**
 * Runs the suite on both drivers and writes `docs/coverage.md` from what it recorded. With `SVC_CONFORMANCE_RECORD`
 * naming a directory that a run has filled already, only the table is written; with `--check` it is compared with the
 * one that is there. With `--gvisor` it runs on gVisor alone, and `docs/coverage-gvisor.md` is written.
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
else compareOrWrite();

async function writeTiers(): Promise<void> {
  const results = runs.find(({ target }) => target === 'gvisor')?.results;
  if (results === undefined) {
    console.error('docs/coverage-gvisor.md is not written: the suite did not run on gVisor.');
    process.exitCode = 1;
    return;
  }
  const findings = await checkHost({ isolation: 'gvisor' });
  const runsc =
    findings.find(({ id }) => id === 'gvisor')?.message.replace(/^.*runsc |\.$/g, '') ?? 'unknown';
  const run = { day: recordedAt.toISOString().slice(0, 10), runsc, kernel: release().replace(/-.*/, '') };
  writeFileSync(path.join(root, '../../docs/coverage-gvisor.md'), renderTiers(run, results));
}

function compareOrWrite(): void {
  const { text, open } = renderCoverage(runs);
  const page = path.join(root, '../../docs/coverage.md');
  if (!process.argv.includes('--check')) writeFileSync(page, text);
  else if (runs.length < 2) console.log('docs/coverage.md is not compared: not every driver ran here.');
  else {
    const changed = changedCells(readFileSync(page, 'utf8'), text);
    for (const line of changed) console.error(`docs/coverage.md differs: ${line}`);
    if (changed.length > 0) {
      console.error('Write it anew: npm run coverage -w packages/conformance');
      process.exitCode = 1;
    }
  }
  console.log(
    `docs/coverage.md: ${runs.map(({ target, results }) => `${results.length} cases on ${target}`).join(', ')}`,
  );
  if (open.length > 0) {
    console.error(`Neither a passing case nor a reason:\n  ${open.join('\n  ')}`);
    process.exitCode = 1;
  }
}
