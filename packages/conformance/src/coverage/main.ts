import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CaseResult } from '../wire/recorder.js';
import { changedCells, renderCoverage } from './table.js';

/**
 * Runs the suite on both drivers and writes `docs/coverage.md` from what it recorded. With `SVC_CONFORMANCE_RECORD`
 * naming a directory that a run has filled already, only the table is written; with `--check` it is compared with the
 * one that is there.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const given = process.env.SVC_CONFORMANCE_RECORD;
const directory = given ?? mkdtempSync(path.join(tmpdir(), 'svc-coverage-'));
if (given === undefined) {
  const { status } = spawnSync('npx', ['vitest', 'run', 'test/process.test.ts', 'test/linux.test.ts'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: '', SVC_CONFORMANCE_RECORD: directory },
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
if (given === undefined) rmSync(directory, { recursive: true });
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
