import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { expect, it } from 'vitest';
import { type Outcome, rows } from '../src/index.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
if (!able) console.warn('What create and commands cost: skipped, the linux driver cannot run on this host');

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Runs the program, and gives what it measured. */
function measure(...words: string[]): Outcome[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-test-'));
  try {
    const file = path.join(folder, 'figures.json');
    const run = spawnSync(process.execPath, [main, ...words, '--json', file], { encoding: 'utf8' });
    expect(run.status, run.stderr).toBe(0);
    return (JSON.parse(readFileSync(file, 'utf8')) as { outcomes: Outcome[] }).outcomes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it('measures every row, small, on the process driver', { timeout: 300_000 }, () => {
  const outcomes = measure('--quick', '--driver', 'process');
  expect(outcomes.map((outcome) => outcome.row)).toEqual(rows.map((row) => row.id));
  for (const outcome of outcomes)
    for (const figure of outcome.figures) expect(Number.isFinite(figure.value), figure.id).toBe(true);
  const skipped = outcomes.filter((outcome) => outcome.skipped !== undefined).map((outcome) => outcome.row);
  expect(skipped).toEqual(['fork', 'big-program', 'hostility', 'tiers', 'cluster']);
});

// Processor time, beside plain work in the same run: what else the machine does slows both down alike.
it.skipIf(!able)('finds create, kill and commands as cheap as they were', { timeout: 900_000 }, () => {
  const [outcome] = measure('--only', 'service-cost', '--driver', 'linux');
  for (const { id, value, target } of outcome!.figures)
    expect(target?.met, `${id}: ${value.toFixed(2)} x plain work, ${target?.text}`).toBe(true);
});

it('refuses a row that does not exist, and names those that do', () => {
  const run = spawnSync(process.execPath, [main, '--only', 'nonsense'], { encoding: 'utf8' });
  expect(run.status).toBe(2);
  expect(run.stderr).toContain('import, cold-script');
});
