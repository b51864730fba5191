import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packageTests } from '../../../vitest.shared.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const self = 'packages/platform/test/no-luck.test.ts';

/** Files of this repository that match, with their texts; not this one, which spells what it forbids. */
function files(...patterns: string[]): [name: string, text: string][] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\n')
    .filter((name) => name !== '' && name !== self)
    .map((name) => [name, readFileSync(`${root}${name}`, 'utf8')]);
}

/** Where time itself has to pass, and why. Everything else waits for an event, or moves a clock. */
const TIME_PASSES: Record<string, string> = {
  'packages/cli/test/dashboard/screenshots.test.ts': 'pictures of plots need samples of some time',
  'packages/conformance/src/crash/rounds.ts': 'a server is killed at a moment of chance',
  'packages/runtime/src/testing/contract/errors.ts': 'a create is aborted at different moments',
  'packages/runtime/test/linux/crash.test.ts': 'a driver is killed at different moments',
  'packages/sdk/test/e2e/commands.test.ts': 'a reader is slow',
  'packages/server/test/component/linux.test.ts': 'a server is killed at different moments',
  'packages/server/test/component/outage.test.ts': 'a database is frozen for a while',
  'packages/server/test/component/survive.test.ts': 'a server is killed at different moments',
  'packages/server/test/hostile/daemon-answers.test.ts': 'an answer that never ends is read for a while',
};

const sleeps = (text: string) =>
  /\bsetTimeout\((?:resolve|done|go|ready)\b|import \{[^}]*\bsetTimeout\b[^}]*\} from 'node:timers\/promises'/.test(
    text,
  );

describe('tests', () => {
  it('are never tried again: one that needs luck has a fault', () => {
    expect(packageTests().test?.retry).toBe(0);
    const configured = files('*vitest*.config.ts', 'vitest.shared.ts', 'scripts/*', '*package.json');
    const again = [...configured, ...files('packages/*.test.ts', 'examples/test/*.ts')].filter(([, text]) =>
      /\bretry: ?[1-9]|--retry|\{ ?retry ?[,}]|\brepeats: ?[1-9]/.test(text),
    );
    expect(again.map(([name]) => name)).toEqual([]);
  });

  it('wait for events, not for time to pass', () => {
    const sources = [
      'packages/*/test/*.ts',
      'packages/conformance/src/*.ts',
      'packages/runtime/src/testing/*.ts',
    ];
    const found = files(...sources, 'examples/test/*.ts')
      .filter(([, text]) => sleeps(text))
      .map(([name]) => name);
    expect(found.sort()).toEqual(Object.keys(TIME_PASSES).sort());
  });

  it.each([
    ["import { setTimeout as sleep } from 'node:timers/promises';", true],
    ['await new Promise((resolve) => setTimeout(resolve, 100));', true],
    ["const timer = setTimeout(() => fail(new Error('no answer')), limitMs);", false],
    ['await sandbox.setTimeout(120_500);', false],
  ])('%s counts as a sleep: %j', (text, counts) => {
    expect(sleeps(text)).toBe(counts);
  });
});
