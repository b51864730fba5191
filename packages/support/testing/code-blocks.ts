import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** One block of code of a Markdown page. */
export interface CodeBlock {
  /** Path of the page in the repository, and the line of the block's first line of code, from 1. */
  page: string;
  line: number;
  language: string;
  /** Without the indentation of its fence. */
  code: string;
  /** It stands in a comment: readers do not see it. It makes what they would bring. */
  hidden?: true;
  /** It knows nothing of the blocks above it. */
  anew?: true;
  /** It needs the driver `linux`. */
  linux?: true;
  /** It takes seconds, and runs with `SVC_HEAVY=1` alone. */
  heavy?: true;
  /** Why it is not run. */
  notRun?: string;
  /** Why it is not even checked: it is no program, no command, no document by itself. */
  notChecked?: string;
  /** The block that it stands right below, when it has no language of its own: then it shows what that one prints. */
  outputOf?: number;
}

const FENCE = /^( *)(`{3,})(.*)$/;
const COMMENT = /^<!-- (ts|sh)\b(.*)$/;

/**
 * The code blocks of a Markdown text. A fence says after its language what is to be known of the block:
 * `anew`, `linux`, `heavy`, and `not-run: WHY` or `not-checked: WHY` at the end. A comment that begins with `<!-- ts` or
 * `<!-- sh`, and ends with a line `-->`, is a hidden block.
 * @throws Error for anything else behind a language, and for a block that does not end
 */
export function blocksOf(page: string, markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const lines = markdown.split('\n');
  let lastEnd = -1;
  for (let at = 0; at < lines.length; at++) {
    const comment = COMMENT.exec(lines[at]!);
    const [, indent = '', fence = '', info = ''] = FENCE.exec(lines[at]!) ?? [];
    if (comment === null && fence === '') continue;
    const isEnd = (line: string) =>
      comment ? line === '-->' : new RegExp(`^ *\`{${fence.length},} *$`).test(line);
    const end = lines.findIndex((line, index) => index > at && isEnd(line));
    if (end === -1) throw new Error(`${page}:${at + 1}: the block does not end`);
    const [, language, attributes] = comment ?? /^\s*([\w+-]*)(.*)$/.exec(info)!;
    const code = lines
      .slice(at + 1, end)
      .map((line) => line.replace(new RegExp(`^ {0,${indent.length}}`), ''));
    const isBelow = lastEnd >= 0 && lines.slice(lastEnd + 1, at).every((line) => line.trim() === '');
    blocks.push({
      page,
      line: at + 2,
      language: language!,
      code: code.join('\n'),
      ...(comment ? { hidden: true } : {}),
      ...readAttributes(`${page}:${at + 1}`, attributes!),
      ...(/^(|text)$/.test(language!) && isBelow ? { outputOf: blocks.at(-1)!.line } : {}),
    });
    lastEnd = comment ? -1 : end;
    at = end;
  }
  return blocks;
}

function readAttributes(at: string, text: string): Partial<CodeBlock> {
  const [, flags = '', name, why] = /^(.*?)(?:\b(not-run|not-checked): (.+))?$/.exec(text) ?? [];
  const read: Partial<CodeBlock> = {};
  for (const flag of flags.trim().split(/\s+/).filter(Boolean)) {
    if (flag !== 'anew' && flag !== 'linux' && flag !== 'heavy')
      throw new Error(
        `${at}: a fence knows anew, linux, heavy, not-run: WHY and not-checked: WHY, but not ${flag}`,
      );
    read[flag] = true;
  }
  if (name === 'not-run') read.notRun = why!;
  if (name === 'not-checked') read.notChecked = why!;
  return read;
}

/** Every page whose blocks are tested: README files of the repository and its packages, and the guides. */
export function readPages(): { page: string; markdown: string; blocks: CodeBlock[] }[] {
  const globs = ['README.md', 'docs/*.md', 'packages/*/README.md'];
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...globs], {
    cwd: repository,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((page) => page !== '' && existsSync(join(repository, page)))
    .map((page) => {
      const markdown = readFileSync(join(repository, page), 'utf8');
      return { page, markdown, blocks: blocksOf(page, markdown) };
    });
}
