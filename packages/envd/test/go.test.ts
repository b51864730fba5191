import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isGate } from '@svc/support/testing/tier';
import { describe, expect, it } from 'vitest';
import { goEnvironment } from '../../../scripts/go.mjs';

interface TestEvent {
  Action: string;
  Package?: string;
  ImportPath?: string;
  Test?: string;
  Output?: string;
}

interface GoTest {
  outcome: 'pass' | 'fail' | 'skip';
  output: string;
}

const directory = fileURLToPath(new URL('..', import.meta.url));

/** Runs the tests of the Go packages; the nightly tier has the race detector on. */
async function runGoTests(): Promise<Map<string, Map<string, GoTest>>> {
  const args = ['test', '-json', ...(isGate ? [] : ['-race']), './...'];
  const stdout = await new Promise<string>((resolve) => {
    // A failure is in the output: each test, or the package that does not compile.
    execFile('go', args, { cwd: directory, env: goEnvironment(), maxBuffer: 2 ** 28 }, (_, out) =>
      resolve(out),
    );
  });
  const packages = new Map<string, Map<string, GoTest>>();
  const outputs = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    if (!line.startsWith('{')) continue;
    const event = JSON.parse(line) as TestEvent;
    const name = (event.Package ?? event.ImportPath ?? '').replace(/ .*/, '');
    // Output of no test is that of the package as a whole.
    const test = event.Test ?? 'the package';
    const key = `${name} ${test}`;
    if (event.Output !== undefined) outputs.set(key, (outputs.get(key) ?? '') + event.Output);
    const failed = event.Action === 'fail' || event.Action === 'build-fail';
    if (!failed && (event.Test === undefined || !['pass', 'skip'].includes(event.Action))) continue;
    const outcome = failed ? 'fail' : (event.Action as 'pass' | 'skip');
    const tests = packages.get(name) ?? new Map<string, GoTest>();
    packages.set(name, tests.set(test, { outcome, output: outputs.get(key) ?? '' }));
  }
  return packages;
}

const packages = await runGoTests();

it('there are tests in Go', () => {
  expect(packages.size).toBeGreaterThan(3);
});

for (const [name, tests] of packages) {
  describe(name, () => {
    for (const [test, { outcome, output }] of tests) {
      it.skipIf(outcome === 'skip')(test, () => {
        if (outcome === 'fail') throw new Error(output);
      });
    }
  });
}
