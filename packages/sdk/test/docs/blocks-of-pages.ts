import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

export interface CodeBlock {
  /** Path of the page in the repository, and the line of the block's first line of code. */
  page: string;
  line: number;
  language: string;
  code: string;
  /** Why it is not checked, which the fence says: ` ```ts not-checked: WHY `. */
  notChecked?: string;
}

/** The code blocks of a Markdown text. */
export function blocksOf(page: string, markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { fence: string; block: CodeBlock; lines: string[] } | undefined;
  for (const [at, line] of markdown.split('\n').entries()) {
    const fence = /^(`{3,})(.*)$/.exec(line);
    if (open) {
      if (fence && fence[1]!.length >= open.fence.length && fence[2] === '') {
        blocks.push({ ...open.block, code: open.lines.join('\n') });
        open = undefined;
      } else open.lines.push(line);
    } else if (fence) {
      const [, language = '', why] = /^(\w*)(?: not-checked: (.+))?/.exec(fence[2]!) ?? [];
      const block = {
        page,
        line: at + 2,
        language,
        code: '',
        ...(why === undefined ? {} : { notChecked: why }),
      };
      open = { fence: fence[1]!, block, lines: [] };
    }
  }
  return blocks;
}

/** The code blocks of the README files of the repository and its packages, and of every guide. */
export function readBlocks(): CodeBlock[] {
  const globs = ['README.md', 'docs/*.md', 'packages/*/README.md'];
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...globs], {
    cwd: repository,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(repository, path)))
    .flatMap((path) => blocksOf(path, readFileSync(join(repository, path), 'utf8')));
}
