import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { built } from '@svc/support/testing/child-program';
import { type CodeBlock, readPages } from '@svc/support/testing/code-blocks';
import { expect, it } from 'vitest';
import { type PageProgram, programsOf } from './program-of-page.js';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** Pages that packages/agents/test compiles, with the types of the frameworks that they use. */
const ELSEWHERE = ['docs/agents.md'];
const isChecked = ({ notChecked }: CodeBlock) => notChecked === undefined;

it('shows programs that the compiler accepts, and would report one that it does not', async () => {
  const programs = readPages()
    .filter(({ page }) => !ELSEWHERE.includes(page))
    .flatMap(({ blocks, markdown }) => programsOf(blocks.filter(isChecked), markdown.split('\n').length));
  expect(programs.length).toBeGreaterThan(15);
  // One that is wrong, so that this test cannot pass without looking.
  const code = "import { Client } from '@svc/sdk';\nawait new Client().sandboxes.invent();";
  const wrong = programsOf([{ page: 'p.md', line: 10, language: 'ts', code }], 12);
  expect(await problemsOf([...programs, ...wrong])).toEqual([expect.stringMatching(/^p\.md:11: .*'invent'/)]);
});

/** Returns the compiler's problems with programs, as strict as an application may be; a line of a page in front of each problem. */
async function problemsOf(programs: readonly PageProgram[]): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-page-types-'));
  try {
    await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'));
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
    const settings = {
      extends: join(repository, 'tsconfig.base.json'),
      // Declarations that the build has just made are read ten times faster than sources.
      compilerOptions: built ? { customConditions: [] } : {},
      include: ['*.ts'],
    };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(settings));
    for (const [at, { text }] of programs.entries())
      await writeFile(join(directory, `program-${at}.ts`), text);
    const compiler = join(repository, 'node_modules/typescript-7/bin/tsc');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [compiler, '-p', directory, '--noEmit', '--pretty', 'false'],
      { cwd: directory },
    ).catch((error: { stdout: string }) => error);
    return stdout
      .split('\n')
      .filter((line) => /\berror TS\d/.test(line))
      .map((line) => {
        const [, at, number, problem] = /^program-(\d+)\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
        return at === undefined ? line : `${programs[Number(at)]!.page}:${number}: ${problem}`;
      });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
