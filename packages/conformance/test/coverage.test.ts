import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readReasons } from '../src/coverage/reasons.js';
import { readRpcOutcomes } from '../src/coverage/rpc-outcomes.js';
import { renderCoverage } from '../src/coverage/table.js';
import { renderTiers } from '../src/coverage/tiers.js';
import { daemon, platform, volumes } from '../src/wire/documents.js';
import type { CaseResult } from '../src/wire/recorder.js';

const root = new URL('../../../', import.meta.url);
const documents = new Map([platform, volumes, daemon].map((one) => [one.name, one]));

describe('every answer that the table of coverage leaves to another test', () => {
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

describe('outcomes of RPCs and of the gateway', () => {
  const run = (result: CaseResult['result'], ...outcomes: string[]) => ({
    target: 'process',
    results: outcomes.map((outcome) => ({
      ...{ id: `a case of ${outcome}`, area: 'process', operation: 'gateway', expects: outcome, result },
      observations: [{ operation: 'gateway', outcome }],
    })) as CaseResult[],
  });
  const listed = ['gateway 204', 'gateway 403'];
  const differences = (...runs: ReturnType<typeof run>[]) => {
    const { missing, unlisted } = renderCoverage(runs, listed);
    return { missing, unlisted };
  };

  it('may come from any driver', () => {
    expect(differences(run('pass', '204'), run('pass', '403'))).toEqual({ missing: [], unlisted: [] });
  });

  it('may not miss one that is listed, nor have one that is not', () => {
    expect(differences(run('pass', '204', '502'))).toEqual({
      missing: ['gateway 403'],
      unlisted: ['gateway 502'],
    });
  });

  it('do not count where the case failed', () => {
    expect(differences(run('pass', '204'), run('fail', '403')).missing).toEqual(['gateway 403']);
  });

  it('are listed in order, each once', () => {
    const lines = readRpcOutcomes();
    expect(lines).toEqual([...new Set(lines)].sort((a, b) => a.localeCompare(b)));
  });
});

it('names each answer of a document that has neither a passing case nor a reason', () => {
  expect(renderCoverage([], []).open).toContain('platform getTeam 200');
});

it('lists what passed on gVisor, by area, and what cannot, with the reason', () => {
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
