import { type CodeBlock, readPages } from '@svc/support/testing/code-blocks';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type DriverOfPages, Fixture, whyNot } from './fixture.js';
import { isProgram, programsOf } from './program-of-page.js';
import { isScript, scriptOf } from './script-of-page.js';
import { differences } from './shown-output.js';

interface Run {
  name: string;
  driver: DriverOfPages;
  page: CodeBlock[];
  /** Blocks that run, in order. */
  blocks: CodeBlock[];
  start(fixture: Fixture): Promise<string>;
}

/** Why a block does not run; undefined for one that does. */
const whyNotRun = ({ notRun, notChecked, heavy }: CodeBlock) =>
  notRun ??
  notChecked ??
  (heavy && process.env.SVC_HEAVY !== '1' ? 'takes seconds; SVC_HEAVY=1 runs it' : undefined);
const isRun = (block: CodeBlock) => whyNotRun(block) === undefined;
const pages = readPages();

const runs: Run[] = pages.flatMap(({ page, markdown, blocks }) => {
  const lineCount = markdown.split('\n').length;
  const shown = blocks.filter(isRun);
  const seen = (some: CodeBlock[]) => some.filter(({ hidden }) => !hidden);
  const linesOf = (some: CodeBlock[]) =>
    `line ${seen(some)
      .map(({ line }) => line)
      .join(', ')}`;
  const common = (some: CodeBlock[]) => ({
    page: blocks,
    blocks: some,
    driver: some.some(({ linux }) => linux) ? ('linux' as const) : ('process' as const),
  });
  const programs = programsOf(shown, lineCount).map((program) => ({
    ...common(program.blocks),
    name: `${page}: TypeScript of ${linesOf(program.blocks)}`,
    start: (fixture: Fixture) => fixture.runProgram(page, program.text),
  }));
  const script = shown.filter(isScript);
  const scripts = [
    {
      ...common(script),
      name: `${page}: shell of ${linesOf(script)}`,
      start: (fixture: Fixture) => fixture.runScript(scriptOf(page, script, lineCount)),
    },
  ];
  return [...programs, ...scripts].filter((run) => seen(run.blocks).length > 0);
});

for (const driver of ['process', 'linux'] as const) {
  const reason = await whyNot(driver);
  if (reason !== undefined) console.warn(`Pages that need ${driver} are skipped: ${reason}`);
  describe.skipIf(reason !== undefined)(`pages run on ${driver}`, { concurrent: true }, () => {
    let fixture: Fixture;
    beforeAll(async () => {
      fixture = await Fixture.open(driver);
    });
    afterAll(() => fixture?.[Symbol.asyncDispose]());

    for (const run of runs.filter((each) => each.driver === driver))
      it(run.name, async () => {
        const wrong = differences(run.page, run.blocks, await run.start(fixture));
        if (wrong.length > 0) throw new Error(wrong.join('\n\n'));
      });
  });
}

describe('blocks that do not run, and why', () => {
  const left = pages.flatMap(({ blocks }) => blocks.filter((each) => isProgram(each) || isScript(each)));
  for (const block of left.filter((each) => !isRun(each) && !each.hidden))
    it.skip(`${block.page}:${block.line}: ${whyNotRun(block)}`);
});
