import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Case } from '../case.js';
import { cases } from '../cases/index.js';
import type { Target } from '../targets/target.js';
import type { CaseResult } from '../wire/recorder.js';
import { readKnownGaps } from './known-gaps.js';
import { missing, runCase } from './run-case.js';

/** Cases by area, as a table for people. */
function summarize(name: string, results: readonly CaseResult[]): string {
  const areas = new Map<string, Record<CaseResult['result'], number>>();
  for (const { area, result } of results) {
    const counts = areas.get(area) ?? { pass: 0, fail: 0, skip: 0, gap: 0 };
    counts[result] += 1;
    areas.set(area, counts);
  }
  const total = { pass: 0, fail: 0, skip: 0, gap: 0 };
  const lines = [...areas].map(([area, counts]) => {
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += counts[key];
    return row(area, counts);
  });
  return [`conformance on ${name}`, ...lines, row('total', total)].join('\n');
}

function row(area: string, { pass, fail, skip, gap }: Record<CaseResult['result'], number>): string {
  const numbers = [
    `${pass} passed`,
    ...(fail > 0 ? [`${fail} FAILED`] : []),
    ...(skip > 0 ? [`${skip} skipped`] : []),
    ...(gap > 0 ? [`${gap} known gaps`] : []),
  ];
  return `  ${area.padEnd(20)} ${numbers.join(', ')}`;
}

/** Keeps the results for the coverage table, where `SVC_CONFORMANCE_RECORD` names a directory. */
function keepResults(name: string, results: readonly CaseResult[]): void {
  const directory = process.env.SVC_CONFORMANCE_RECORD;
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, `${name}.json`), JSON.stringify(results));
}

/**
 * Turns cases into tests of a target that `open` makes. `SVC_CONFORMANCE_ONLY` picks cases by a part of the id.
 * @param counts picks the cases that this target has to be tried with. Default: all
 */
export function describeConformance(
  name: string,
  open: () => Promise<Target>,
  counts: (one: Case) => boolean = () => true,
): void {
  const gaps = readKnownGaps(name);
  const only = process.env.SVC_CONFORMANCE_ONLY;
  const chosen = cases.filter((one) => counts(one) && (only === undefined || one.id.includes(only)));
  const results: CaseResult[] = [];
  let target: Target;

  describe(`conformance on ${name}`, () => {
    beforeAll(async () => {
      target = await open();
    });

    afterAll(async () => {
      console.log(`\n${summarize(name, results)}\n`);
      keepResults(name, results);
      await target?.close();
    });

    const register = (one: Case) =>
      test(one.id, async (context) => {
        const lacks = missing(one, target);
        const { result, error } = await runCase(one, target, gaps.get(one.id));
        results.push(result);
        if (lacks !== undefined) context.skip(`${name} has no ${lacks}`);
        if (result.result === 'gap') context.skip(`known gap: ${result.reason}`);
        if (error !== undefined) throw error;
      });

    const alone = chosen.filter((one) => one.alone === true);
    const others = chosen.filter((one) => one.alone !== true);
    // A suite without a test fails.
    if (others.length > 0) describe.concurrent('side by side', () => others.forEach(register));
    if (alone.length > 0) describe('one at a time', () => alone.forEach(register));
  });
}
