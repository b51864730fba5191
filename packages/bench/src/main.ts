#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { placeTable } from './report/place-table.js';
import { type Outcome, renderTable } from './report/table.js';
import type { BenchContext } from './row.js';
import { rows } from './rows/index.js';

const USAGE = `usage: npm run bench -- [options]

  --only ID[,ID]      only these rows: ${rows.map((row) => row.id).join(', ')}
  --quick             few runs and small sizes: shows that it works, not how fast anything is
  --driver NAME       linux or process; default: linux where the host can
  --json FILE         also write the figures as JSON
  --markdown FILE     also put the table into FILE, between <!-- bench --> and <!-- /bench -->
  --list              say what the rows measure`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    driver: { type: 'string' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
if (values.list) {
  for (const row of rows) console.log(`${row.id.padEnd(14)} ${row.about}`);
  process.exit(0);
}

const wanted = values.only?.split(',');
const unknown = wanted?.filter((id) => !rows.some((row) => row.id === id)) ?? [];
if (unknown.length > 0) {
  console.error(`There is no row ${unknown.join(', ')}.\n\n${USAGE}`);
  process.exit(2);
}

const driver = values.driver ?? (linuxDriverCanRun(await checkHost({})) ? 'linux' : 'process');
if (driver !== 'linux' && driver !== 'process') {
  console.error(`There is no driver ${driver}: linux or process.`);
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const row of rows.filter((each) => wanted === undefined || wanted.includes(each.id))) {
  const context: BenchContext = {
    quick: values.quick,
    driver,
    progress: (text) => console.error(`  ${row.id}: ${text}`),
  };
  console.error(`${row.id}: ${row.about}`);
  try {
    const result = await row.run(context);
    outcomes.push(
      Array.isArray(result) ? { row: row.id, figures: result } : { row: row.id, figures: [], ...result },
    );
  } catch (error) {
    // One broken row must not cost the others; the exit code says that there was one.
    console.error(error);
    outcomes.push({
      row: row.id,
      figures: [],
      skipped: `it failed: ${(error as Error).message.split('\n')[0]}`,
    });
    process.exitCode = 1;
  }
}

const table = renderTable(outcomes);
console.log(table);
if (values.json !== undefined)
  await writeFile(
    values.json,
    `${JSON.stringify({ node: process.version, driver, quick: values.quick, outcomes }, null, 2)}\n`,
  );
if (values.markdown !== undefined)
  await writeFile(values.markdown, placeTable(await readFile(values.markdown, 'utf8'), table));
process.exit();
