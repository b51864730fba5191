import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findConfigProblem } from '../../src/config/check-file.js';
import { environmentVariables } from '../../src/config/load.js';

const page = readFileSync(new URL('../../../../docs/settings.md', import.meta.url), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| `'));
const options = rows.map((row) => /^\| `([^`]+)`/.exec(row)![1]!);

describe('the page of settings', () => {
  it('lists no option that a configuration file may not give', () => {
    expect(options.length).toBeGreaterThan(50);
    for (const option of options) {
      const file = option
        .split('.')
        .reduceRight<unknown>((inner, name) => ({ [name]: inner }), Symbol('any'));
      // The value is wrong for every option, so each must be refused for its value, not for its name.
      expect(findConfigProblem(file as Record<string, unknown>), option).toMatch(/ must be /);
    }
  });

  it('lists every environment variable, once', () => {
    const listed = [...page.matchAll(/`(SVC_\w+)`/g)]
      .map(([, name]) => name)
      .filter((name) => name !== 'SVC_CONFIG');
    expect(listed.sort()).toEqual(environmentVariables.map(({ variable }) => variable).sort());
  });

  it('tells a default for each', () => {
    for (const row of rows) expect(row.replaceAll('\\|', '').split('|')[3]?.trim(), row).not.toBe('');
  });
});
