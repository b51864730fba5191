import { type Document, daemon, type Operation, platform, volumes } from '../wire/documents.js';
import type { CaseResult } from '../wire/recorder.js';
import { type Reason, readReasons, reasonFor } from './reasons.js';

type Cell =
  | { kind: 'pass'; cases: number; labels: string[] }
  | { kind: 'fail'; ids: string[] }
  | { kind: 'other test'; reason: Reason }
  | { kind: 'none' };

interface Run {
  target: string;
  results: CaseResult[];
}

/** The name of an RPC's outcome in the table. */
const rpcOutcome = (outcome: string) => (outcome === 'ok' ? 'success' : outcome);

export interface Coverage {
  /** The table, as Markdown. */
  text: string;
  /** Answers that a document lists, with neither a passing case nor a reason. */
  open: string[];
  /** Outcomes of RPCs that are listed and were not seen, and those that were seen and are not listed. */
  missing: string[];
  unlisted: string[];
}

/**
 * Renders the answers that passing cases recorded.
 * @param rpcOutcomes what has to be seen of RPCs and of the gateway, as `<RPC or gateway> <outcome>`
 */
export function renderCoverage(runs: readonly Run[], rpcOutcomes: readonly string[]): Coverage {
  const reasons = readReasons();
  const open: string[] = [];
  const lines = [
    '# Coverage of the contract',
    '',
    'Written by `npm run coverage -w packages/conformance` from the answers that the conformance run recorded.',
    'A cell is `pass` when a case that passed got this answer from this operation, and the answer fit the document; the number says how many cases did.',
    'A cell is `other test` when no case of that run brings the answer about: it names the test that does.',
    '',
    ...runs.map(({ target, results }) => `- ${target}: ${summary(results)}`),
    '',
  ];
  for (const document of [platform, volumes, daemon])
    lines.push(...section(document, runs, reasons, open), '');
  const seen = rpcCases(runs);
  lines.push(...rpcSection(seen), '');
  return {
    text: `${lines.join('\n').trimEnd()}\n`,
    open,
    missing: rpcOutcomes.filter((line) => !seen.has(line)),
    unlisted: [...seen.keys()].filter((line) => !rpcOutcomes.includes(line)).sort(),
  };
}

function summary(results: readonly CaseResult[]): string {
  const count = (kind: CaseResult['result']) => results.filter((one) => one.result === kind).length;
  const skipped = [...new Set(results.filter((one) => one.result === 'skip').map((one) => one.reason))];
  return `${count('pass')} cases passed, ${count('fail')} failed, ${count('gap')} known gaps, ${count('skip')} skipped${skipped.length === 0 ? '' : ` (${skipped.join('; ')})`}`;
}

const TITLES: Record<string, string> = {
  platform: 'Platform API',
  volumes: 'Volume content API',
  daemon: 'Daemon, plain routes',
};

function section(
  document: Document,
  runs: readonly Run[],
  reasons: readonly Reason[],
  open: string[],
): string[] {
  const lines = [`## ${TITLES[document.name]}`, '', '| Operation | Outcome | Result |', '|---|---|---|'];
  for (const operation of document.operations.values())
    for (const status of operation.statuses) {
      const cell = cellOf(document, operation, status, runs, reasons);
      if (cell.kind === 'none') open.push(`${document.name} ${operation.id} ${status}`);
      lines.push(
        `| ${operation.id} | ${Number(status) < 400 ? `success ${status}` : status} | ${show(cell)} |`,
      );
    }
  return lines;
}

function cellOf(
  document: Document,
  operation: Operation,
  status: string,
  runs: readonly Run[],
  reasons: readonly Reason[],
): Cell {
  const id = observedAs(document, operation);
  const all = runs.flatMap((one) => one.results);
  const matching = all.filter((one) =>
    one.observations.some((seen) => seen.operation === id && seen.outcome === status),
  );
  const passed = matching.filter((one) => one.result === 'pass');
  if (passed.length > 0) {
    const codes = passed.flatMap((one) =>
      one.observations
        .filter((seen) => seen.operation === id && seen.outcome === status)
        .map((seen) => seen.errorCode),
    );
    const labels = passed
      .filter((one) => one.operation === id && one.expects.startsWith(`${status} `))
      .map((one) => one.expects.slice(status.length + 1));
    return {
      kind: 'pass',
      cases: new Set(passed.map((one) => one.id)).size,
      labels: [...new Set([...labels, ...codes.filter((one) => one !== undefined)])],
    };
  }
  const failed = all.filter(
    (one) => one.result === 'fail' && one.operation === id && one.expects.startsWith(status),
  );
  if (failed.length > 0) return { kind: 'fail', ids: failed.map((one) => one.id) };
  const reason = reasonFor(reasons, { document: document.name, operation: operation.id, status });
  return reason === undefined ? { kind: 'none' } : { kind: 'other test', reason };
}

/** Returns the recorder's name of an operation: the daemon has some of the names that the platform has. */
const observedAs = (document: Document, operation: Operation) =>
  document === daemon ? `daemon ${operation.id}` : operation.id;

function show(cell: Cell): string {
  if (cell.kind === 'fail') return `**fail**: ${cell.ids.join('; ')}`;
  if (cell.kind === 'none') return '**not covered**';
  if (cell.kind === 'other test') return `other test: ${cell.reason.how} (\`${cell.reason.test}\`)`;
  const labels =
    cell.labels.length === 0
      ? ''
      : `: ${cell.labels.slice(0, 6).join(', ')}${cell.labels.length > 6 ? ', ...' : ''}`;
  return `pass (${cell.cases})${labels}`;
}

/** The cases that saw each outcome of the daemon's RPCs, whose failures no document lists by RPC, and of the gateway. */
function rpcCases(runs: readonly Run[]): Map<string, Set<string>> {
  const seen = new Map<string, Set<string>>();
  for (const { id, result, observations } of runs.flatMap((one) => one.results)) {
    if (result !== 'pass') continue;
    for (const { operation, outcome } of observations) {
      if (platform.operations.has(operation) || volumes.operations.has(operation)) continue;
      if (operation.startsWith('daemon ')) continue;
      const key = `${operation} ${rpcOutcome(outcome)}`;
      seen.set(key, (seen.get(key) ?? new Set()).add(id));
    }
  }
  return seen;
}

function rpcSection(seen: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const rows = [...seen].sort(([a], [b]) => a.localeCompare(b));
  return [
    '## Daemon RPCs and gateway',
    '',
    '| RPC | Outcome | Result |',
    '|---|---|---|',
    ...rows.map(([key, cases]) => `| ${key.split(' ').join(' | ')} | pass (${cases.size}) |`),
  ];
}
