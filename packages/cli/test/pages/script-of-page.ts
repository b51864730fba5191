import type { CodeBlock } from '@svc/support/testing/code-blocks';
import { quote } from '#support/quote';
import { markOf } from './shown-output.js';

/** Languages whose blocks make one script. */
export const isScript = ({ language }: CodeBlock) => language === 'sh' || language === 'console';

/**
 * The script that the shell blocks of a page are, in order. Its lines are those of the page, so that the line of an error is
 * one of the page.
 *
 * - Words in capitals that a hidden block sets (`ID=$(svc sandbox create)`) stand for their values in what readers see.
 * - A line whose comment says "until Ctrl+C" is interrupted as soon as it says that it is at work.
 * - Of a transcript (`console`) the lines behind `$` are run, and shown as there.
 */
export function scriptOf(page: string, blocks: readonly CodeBlock[], lineCount: number): string {
  const lines = Array<string>(lineCount + 1).fill('');
  const values: string[] = [];
  // The first thing that fails ends the script. Not in a transcript, which shows what fails, and the report of it.
  const strict = `set -e -o pipefail; trap 'echo "${page}:$LINENO: ended with $?" >&2' ERR`;
  const [lax, strictAgain] = ['set +e; trap - ERR; exec 3>&2 2>&1', `exec 2>&3 3>&-; ${strict}`];
  lines[0] = strict;
  for (const { line, code, language, hidden } of blocks) {
    lines[line - 2] = `printf '${markOf(line - 1).replace('\0', '\\0')}\\n'`;
    if (language === 'console') lines[line - 2] += `; ${lax}`;
    for (const [at, text] of code.split('\n').entries()) {
      if (hidden) for (const [, name] of text.matchAll(/(?:^|;)\s*([A-Z]+)=/g)) values.push(name!);
      lines[line - 1 + at] = hidden ? text : language === 'console' ? typed(text) : filledIn(text, values);
    }
    if (language === 'console') lines[line - 1 + code.split('\n').length] = strictAgain;
  }
  return `${lines.join('\n')}\n`;
}

/** A line of a transcript: a command behind `$`, which is shown and run, or what it printed. */
function typed(text: string): string {
  const command = /^\$ (.*)$/.exec(text)?.[1];
  return command === undefined ? '' : `printf '%s\\n' ${quote(text)}; ${command}`;
}

function filledIn(text: string, values: readonly string[]): string {
  const interrupted = text.replace(/^(\w+=\S+ )*(\S.*?)( +#.*\buntil Ctrl\+C)/, '$1until-ctrl-c $2$3');
  return values.reduce(
    (rest, name) => rest.replace(new RegExp(`(?<![\\w$\`{.-])${name}(?![\\w=])`, 'g'), `\${${name}}`),
    interrupted,
  );
}
