import type { CaseResult } from '../wire/recorder.js';

/** The run that a page is about. */
export interface TiersRun {
  /** Day, `YYYY-MM-DD`. */
  day: string;
  /** Version of the `runsc` that was used. */
  runsc: string;
  kernel: string;
}

const COUNTED: Record<CaseResult['result'], string> = {
  pass: 'passed',
  fail: 'failed',
  skip: 'skipped',
  gap: 'known gaps',
};

/** The page that says what passed on gVisor, by area, from the results of one run. Pure. */
export function renderTiers(run: TiersRun, gvisor: readonly CaseResult[]): string {
  const areas = [...new Set(gvisor.map(({ area }) => area))];
  const row = (title: string, chosen: (one: CaseResult) => boolean) =>
    `| ${title} | ${gvisor.filter(chosen).length} | ${count(gvisor.filter(chosen))} |`;
  const gaps = gvisor.filter(({ result }) => result === 'gap');
  const lines = [
    '# Conformance on gVisor',
    '',
    'Written by `npm run coverage -w packages/conformance -- --gvisor` from one run of the whole suite.',
    'On containers all of these cases pass in every run of the gate (`coverage.md`). The gate does not run them on gVisor: this page is as old as its run.',
    '',
    `Run of ${run.day}: runsc ${run.runsc}, Linux ${run.kernel}.`,
    '',
    '| Area | Cases | gVisor |',
    '|---|---|---|',
    ...areas.map((area) => row(area, (one) => one.area === area)),
    row('**all**', () => true),
    '',
    ...(gaps.length === 0 ? [] : ['What gVisor cannot pass, and why:', '']),
    ...gaps.map(({ id, reason }) => `- ${id}: ${reason}`),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function count(results: readonly CaseResult[]): string {
  return (
    Object.entries(COUNTED)
      .map(([kind, word]) => ({ word, number: results.filter(({ result }) => result === kind).length }))
      .filter(({ number }) => number > 0)
      .map(({ word, number }) => `${number} ${word}`)
      .join(', ') || 'none'
  );
}
