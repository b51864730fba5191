import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CaseResult } from '../wire/recorder.js';

/** Cases by area, as a table for people. */
export function summarize(name: string, results: readonly CaseResult[]): string {
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
export function keepResults(name: string, results: readonly CaseResult[]): void {
  const directory = process.env.SVC_CONFORMANCE_RECORD;
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, `${name}.json`), JSON.stringify(results));
}
