import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const packageDirectory = fileURLToPath(new URL('..', import.meta.url));
// Below the package: the tests in it find Vitest as any other does.
mkdirSync(join(packageDirectory, 'node_modules'), { recursive: true });
const directory = mkdtempSync(join(packageDirectory, 'node_modules/reporter-'));
afterAll(() => rmSync(directory, { recursive: true }));

it('says why the set-up of a group failed, whose tests count as skipped, and how long it took', () => {
  writeFileSync(
    join(directory, 'fails.test.ts'),
    `import { beforeAll, describe, it } from 'vitest';
describe('a stage', () => {
  beforeAll(() => {
    throw new Error('the mirror did not answer');
  });
  it('is never played', () => {});
});
describe('another', () => {
  beforeAll(() => undefined);
  it('is played', () => {});
});`,
  );
  const reporter = fileURLToPath(new URL('../testing/json-reporter.ts', import.meta.url));
  writeFileSync(
    join(directory, 'vitest.config.ts'),
    `import { JsonReporterWithSetUps } from ${JSON.stringify(reporter)};
export default { test: { reporters: [new JsonReporterWithSetUps({ outputFile: 'results.json' })] } };`,
  );
  const program = fileURLToPath(new URL('vitest.mjs', import.meta.resolve('vitest/package.json')));
  expect(() => execFileSync(process.execPath, [program, 'run'], { cwd: directory, stdio: 'pipe' })).toThrow();
  const report = JSON.parse(readFileSync(join(directory, 'results.json'), 'utf8'));
  expect(report.testResults).toMatchObject([
    { status: 'failed', assertionResults: [{ status: 'skipped' }, { status: 'passed' }] },
  ]);
  expect(report.testResults[0].message).toContain('set-up of "a stage": Error: the mirror did not answer');
  expect(report.testResults[0].setUps).toEqual([
    { name: 'beforeAll of "another"', seconds: expect.any(Number) },
    { name: 'import', seconds: expect.any(Number) },
  ]);
});
