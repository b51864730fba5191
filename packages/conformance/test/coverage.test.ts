import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readReasons } from '../src/coverage/reasons.js';
import { changedCells } from '../src/coverage/table.js';
import { renderTiers } from '../src/coverage/tiers.js';
import { daemon, platform, volumes } from '../src/wire/documents.js';
import type { CaseResult } from '../src/wire/recorder.js';

const root = new URL('../../../', import.meta.url);
const documents = new Map([platform, volumes, daemon].map((one) => [one.name, one]));

describe('every answer that the table of coverage says is produced elsewhere', () => {
  it.each(readReasons())('$document $operation $status by $test', ({ document, operation, status, test }) => {
    const file = new URL(test, root);
    expect(existsSync(file), `${test} exists`).toBe(true);
    const text = readFileSync(file, 'utf8');
    expect(text, `${test} expects ${status}`).toMatch(new RegExp(`\\b${status}\\b`));
    if (operation !== '*') expect(text, `${test} names ${operation}`).toContain(operation);
    const operations = [...documents.get(document)!.operations.values()].filter(
      ({ id }) => operation === '*' || id === operation,
    );
    expect(
      operations.some(({ statuses }) => statuses.includes(status)),
      'the document lists it',
    ).toBe(true);
  });
});

describe('a table that is compared with a fresh one', () => {
  const before = '| getTeam | success 200 | pass (4) |\n| getTeam | 401 | pass (3): missing, unknown |\n';

  it('may differ in how many cases got an answer, and why', () => {
    const after = '| getTeam | success 200 | pass (5) |\n| getTeam | 401 | pass (2): unknown |\n';
    expect(changedCells(before, after)).toEqual([]);
  });

  it('may not lack an answer, or hold one that nobody gives', () => {
    const after = '| getTeam | success 200 | pass (4) |\n| getTeam | 403 | pass (1) |\n';
    expect(changedCells(before, after)).toEqual(['- | getTeam | 401 | pass |', '+ | getTeam | 403 | pass |']);
  });
});

it('tells what passed on gVisor, by area, and what cannot, with the reason', () => {
  const one = (area: string, result: CaseResult['result'], reason?: string): CaseResult => ({
    ...{ id: `${area}: a case`, area, operation: 'getHealth', expects: 'success', result, observations: [] },
    ...(reason === undefined ? {} : { reason }),
  });
  const page = renderTiers({ day: '2026-01-31', runsc: '1', kernel: '6' }, [
    one('files', 'gap', 'no attributes'),
    one('team', 'fail'),
    one('team', 'pass'),
  ]);
  expect(page).toContain('Run of 2026-01-31: runsc 1, Linux 6.');
  expect(page).toContain('| files | 1 | 1 known gaps |');
  expect(page).toContain('| team | 2 | 1 passed, 1 failed |');
  expect(page).toContain('| **all** | 3 | 1 passed, 1 failed, 1 known gaps |');
  expect(page).toContain('- files: a case: no attributes');
});
