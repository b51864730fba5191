import type { CodeBlock } from '@svc/support/testing/code-blocks';

/**
 * The mark that a program or script of a page prints for its place: right before a block, with the line of its fence, and right
 * behind a line that says what it prints.
 */
export const markOf = (line: number) => `\0line ${line}`;

/** `console.log(...); // TEXT` says that it prints TEXT. Undefined for other lines. */
export function printedBy(line: string): { code: string; text: string } | undefined {
  const [, code, text] = /^(\s*console\.log\(.*\);) *\/\/ (.+)$/.exec(line) ?? [];
  return text === undefined ? undefined : { code: code!, text };
}

/**
 * Compares what was printed with what a page says: in the block right below, in a transcript (`console`), and in comments of lines
 * that print.
 * @param blocks all blocks of the page
 * @param ran those that ran, in order
 * @returns a text for each difference
 */
export function differences(
  blocks: readonly CodeBlock[],
  ran: readonly CodeBlock[],
  stdout: string,
): string[] {
  // Text, line, text, line, ..., text.
  const pieces = stdout.split(/\0line (\d+)\n/);
  const found: string[] = [];
  const compare = (at: string, wanted: string, got: string) => {
    if (masked(wanted) !== masked(got))
      found.push(`${at}: the page shows\n${wanted.trim()}\nbut this was printed\n${got.trim()}`);
  };
  for (const { page, line, language, code } of ran) {
    const lines = code.split('\n');
    const below = blocks.find(({ outputOf }) => outputOf === line);
    const whole = pieces.filter((_, at) => {
      const mark = Number(pieces[at - 1]);
      return at % 2 === 0 && mark >= line - 1 && mark < line + lines.length;
    });
    if (below) compare(`${page}:${below.line}`, below.code, whole.join(''));
    if (language === 'console') compare(`${page}:${line}`, code, whole.join(''));
    for (const [at, text] of lines.map((each) => printedBy(each)?.text).entries()) {
      const mark = text === undefined ? -1 : pieces.indexOf(String(line + at));
      if (mark > 0) compare(`${page}:${line + at}`, text!, pieces[mark - 1]!.trimEnd().split('\n').at(-1)!);
    }
  }
  return found;
}

/** Parts that differ from run to run. */
const CHANGING: [RegExp, string][] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID'],
  [/\bi[0-9a-z]{20}\b/g, 'SANDBOX'],
  [/\bsvc_[0-9a-f*.]+/g, 'KEY'],
  [/\b(127\.0\.0\.1|localhost):\d+/g, '$1:PORT'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'DATE'],
  [/\b(?:\d+(?:\.\d+)?(?:ms|s|m|h|d)\b ?)+/g, 'TIME '],
];

/** Transcripts were made in a terminal of 100 columns, which breaks longer lines anywhere. */
const unwrapped = (text: string) => text.replace(/^(.{100})\n/gm, '$1');

/** A text without what differs from run to run, and without white space, as columns of tables have the width of what is in them. */
export function masked(text: string): string {
  return CHANGING.reduce((rest, [pattern, name]) => rest.replace(pattern, name), unwrapped(text)).replace(
    /\s+/g,
    '',
  );
}
