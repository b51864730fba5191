// Times of a test run: by package, by file, the slowest tests and set-ups, and the jobs that ran side by side.
//
//   node scripts/test-times.mjs compare OLD.json NEW.json   what became slower or faster between two runs
//   node scripts/test-times.mjs budgets RUN.json            writes scripts/test-budgets.json from a run
//
// The gate keeps its last two runs as test-times.json and test-times.previous.json in the root of the checkout.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const BUDGETS = new URL('./test-budgets.json', import.meta.url);
/** Budget of a file that the table does not name, seconds. */
const SMALL = 10;
/** A file fails above this share of its budget. */
const TOLERANCE = 1.5;
/** Budgets are this many times the seconds of a quiet run: files beside each other share two processors. */
const HEADROOM = 2;
/** Above this pace a machine is slow or busy. */
const BUSY = 1.3;
/** Where a quarter of the files is above this pace, the machine was busy for part of the run. */
const BUSY_IN_PART = 1.6;

/** The names of results: of a folder's run, and of further ones on another Node or with a switch. */
export const RESULTS = /^test-results(?:-(\w+-\w+))?\.json$/;

/** Reads the results that test runs left in the folders of packages: one entry for each file, project and version of Node. */
export function readFiles(folders) {
  return folders.flatMap((folder) =>
    readdirSync(folder)
      .map((name) => RESULTS.exec(name))
      .filter((match) => match !== null)
      .flatMap(([name, more]) => {
        const report = JSON.parse(readFileSync(join(folder, name), 'utf8'));
        return report.testResults.map((file) => entryOf(folder, file, more));
      }),
  );
}

function entryOf(folder, file, more) {
  const path = relative(resolve('.'), file.name);
  const run = [file.project, more].filter(Boolean).join(', ');
  return {
    name: run ? `${path} (${run})` : path,
    package: folder,
    seconds: file.seconds ?? (file.endTime - file.startTime) / 1000,
    setUps: file.setUps ?? [],
    tests: file.assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, duration }) => ({ name: fullName, seconds: (duration ?? 0) / 1000 })),
  };
}

/** Reads the jobs of the gate: lines of name, begin and end, in seconds since it began. */
export function readJobs(path) {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
    .map(([name, begin, end]) => ({ name, begin: Number(begin), end: Number(end) }))
    .sort((a, b) => a.begin - b.begin);
}

/** Renders the report as lines for people. */
export function describeTimes({ files, jobs }) {
  const packages = groupBy(files, (file) => file.package);
  const rows = [...packages].map(([name, own]) => ({ name, seconds: sum(own), tests: count(own), own }));
  rows.sort((a, b) => b.seconds - a.seconds);
  const tests = files.flatMap((file) => file.tests.map((test) => ({ ...test, file: file.name })));
  const setUps = files.flatMap((file) => file.setUps.map((setUp) => ({ ...setUp, file: file.name })));
  return [
    'Jobs, side by side (begin, end, seconds)',
    ...jobs.map(
      ({ name, begin, end }) => `${pad(begin)} ${pad(end)} ${pad(end - begin)}  ${name}${beside(name, jobs)}`,
    ),
    '',
    'Packages and their files above 5 s (seconds, tests)',
    ...rows.flatMap(({ name, seconds, tests: number, own }) => [
      `${pad(seconds)} ${pad(number, 0)}  ${name}`,
      ...slowest(own, 100)
        .filter((file) => file.seconds > 5)
        .map((file) => `${pad(file.seconds)} ${pad(file.tests.length, 0)}    ${file.name}`),
    ]),
    '',
    'The 30 slowest tests (seconds)',
    ...slowest(tests, 30).map(({ seconds, file, name }) => `${pad(seconds)}  ${file}: ${name}`),
    '',
    'The 10 slowest set-ups (seconds)',
    ...slowest(setUps, 10).map(({ seconds, file, name }) => `${pad(seconds)}  ${file}: ${name}`),
  ];
}

function beside(name, jobs) {
  const own = jobs.find((job) => job.name === name);
  const others = jobs.filter((job) => job !== own && job.begin < own.end && own.begin < job.end);
  return others.length === 0 ? '' : ` | beside ${others.map((job) => job.name).join(', ')}`;
}

/**
 * Names the files that took more than their budget by half. Budgets are twice the seconds of one quiet machine. On a slower one all
 * files take longer, so that each is judged by the pace of the run, which is the median; on a busy one, and where it was busy for part of
 * the run, some take ten times as long as others, and none is `judged`.
 * @returns {{ pace: number, judged: boolean, over: { name: string, seconds: number, allowed: number }[] }}
 */
export function overBudget(files, budgets) {
  const judged = files.map((file) => ({ ...file, budget: budgets[file.name] ?? SMALL }));
  const shares = judged
    .filter(({ name }) => name in budgets)
    .map(({ seconds, budget }) => seconds / (budget / HEADROOM));
  shares.sort((a, b) => a - b);
  const paceOf = (part) => Math.max(1, shares[Math.floor((shares.length - 1) * part)] ?? 1);
  const pace = paceOf(0.5);
  const over = judged
    .map(({ name, seconds, budget }) => ({ name, seconds, allowed: budget * TOLERANCE * pace }))
    .filter(({ seconds, allowed }) => seconds > allowed);
  return { pace, judged: pace <= BUSY && paceOf(0.75) <= BUSY_IN_PART, over };
}

export const readBudgets = () => (existsSync(BUDGETS) ? JSON.parse(readFileSync(BUDGETS, 'utf8')) : {});

/** Compares two runs: files whose time differs by more than 2 s and a quarter, those that came and those that left. */
export function compareTimes(before, after) {
  const old = new Map(before.files.map((file) => [file.name, file]));
  const lines = [`${pad(sum(before.files))} -> ${pad(sum(after.files))}  all files`];
  for (const file of slowest(after.files, after.files.length)) {
    const former = old.get(file.name);
    old.delete(file.name);
    if (former === undefined) lines.push(`${' '.repeat(7)} -> ${pad(file.seconds)}  ${file.name}: new`);
    else if (Math.abs(file.seconds - former.seconds) > 2 + former.seconds / 4)
      lines.push(`${pad(former.seconds)} -> ${pad(file.seconds)}  ${file.name}`);
  }
  for (const file of old.values())
    lines.push(`${pad(file.seconds)} -> ${' '.repeat(7)}  ${file.name}: left out`);
  return lines;
}

function budgetsOf(files) {
  const rows = files.map(({ name, seconds }) => [name, Math.ceil(seconds * HEADROOM)]);
  return Object.fromEntries(
    rows.filter(([, seconds]) => seconds > SMALL).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

const pad = (number, digits = 1) => number.toFixed(digits).padStart(7);
const sum = (files) => files.reduce((total, { seconds }) => total + seconds, 0);
const count = (files) => files.reduce((total, { tests }) => total + tests.length, 0);
const slowest = (rows, number) => [...rows].sort((a, b) => b.seconds - a.seconds).slice(0, number);

function groupBy(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , command, ...paths] = process.argv;
  const runs = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
  if (command === 'compare' && runs.length === 2) console.log(compareTimes(...runs).join('\n'));
  else if (command === 'budgets' && runs.length === 1)
    writeFileSync(BUDGETS, `${JSON.stringify(budgetsOf(runs[0].files), null, 2)}\n`);
  else {
    console.error('usage: node scripts/test-times.mjs compare OLD.json NEW.json | budgets RUN.json');
    process.exitCode = 2;
  }
}
