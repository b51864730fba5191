import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readReasons } from '../src/coverage/reasons.js';
import { changedCells } from '../src/coverage/table.js';
import { daemon, platform, volumes } from '../src/wire/documents.js';

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
