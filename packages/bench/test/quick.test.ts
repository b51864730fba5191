import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Outcome, rows } from '../src/index.js';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

it('measures every row, small, on the process driver', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-test-'));
  try {
    const file = path.join(folder, 'figures.json');
    const run = spawnSync(process.execPath, [main, '--quick', '--driver', 'process', '--json', file], {
      encoding: 'utf8',
    });
    expect(run.status, run.stderr).toBe(0);
    const { outcomes } = JSON.parse(readFileSync(file, 'utf8')) as { outcomes: Outcome[] };
    expect(outcomes.map((outcome) => outcome.row)).toEqual(rows.map((row) => row.id));
    for (const outcome of outcomes)
      for (const figure of outcome.figures) expect(Number.isFinite(figure.value), figure.id).toBe(true);
    const skipped = outcomes.filter((outcome) => outcome.skipped !== undefined).map((outcome) => outcome.row);
    expect(skipped).toEqual(['fork', 'hostility']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('refuses a row that does not exist, and names those that do', () => {
  const run = spawnSync(process.execPath, [main, '--only', 'nonsense'], { encoding: 'utf8' });
  expect(run.status).toBe(2);
  expect(run.stderr).toContain('import, cold-script');
});
