import { blocksOf, type CodeBlock, readPages } from '@svc/support/testing/code-blocks';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildProgram } from '../../src/program/program.js';

describe('the commands that pages show', () => {
  let program: Command;
  beforeAll(async () => {
    program = await buildProgram([], { all: true });
  });

  it('are there, with their options', () => {
    const shown = readPages().flatMap(({ page, blocks }) =>
      commandsOf(blocks).map(({ line, words }) => ({ at: `${page}:${line}`, words })),
    );
    expect(shown.length).toBeGreaterThan(40);
    expect(
      shown.flatMap(({ at, words }) => problemsOf(program, words).map((each) => `${at}: ${each}`)),
    ).toEqual([]);
  });

  it.each([
    ['svc sandbox invent', "no command 'invent' in `svc sandbox`"],
    ['svc invent', "no command 'invent' in `svc`"],
    ['sudo svc server up --invent=1', 'no option --invent in `svc server up`'],
    ['echo x | svc sandbox list -z', 'no option -z in `svc sandbox list`'],
    ['VAR=1 svc team list --json | jq .', undefined],
    ['svc sandbox exec ID -- ls --invent', undefined],
    ['svc team update research --max-timeout default', undefined],
    ['svc --json sandbox list', undefined],
  ])('%s: %s', (line, problem) => {
    const [command] = commandsOf(blocksOf('p.md', `\`\`\`sh\n${line}\n\`\`\``));
    expect(problemsOf(program, command!.words)).toEqual(problem === undefined ? [] : [problem]);
  });
});

/** Returns the words after `svc` on a line of a shell block, up to the end of that command. In `console` blocks, of lines behind `$`. */
function commandsOf(blocks: readonly CodeBlock[]): { line: number; words: string[] }[] {
  const found: { line: number; words: string[] }[] = [];
  for (const { language, code, line: first, notChecked } of blocks) {
    if (!/^(sh|console)$/.test(language) || notChecked !== undefined) continue;
    for (const [at, line] of code.split('\n').entries()) {
      if (language === 'console' && !/^[$#] /.test(line)) continue;
      const text = line.replace(/(^|\s)#\s.*$/, '').replace(/^\$ /, '');
      for (const [, rest] of text.matchAll(
        /(?:^|[|;&(]\s*|sudo |\w+=\S* )svc\s+((?:'[^']*'|"[^"]*"|[^|;&>'")])*)/g,
      ))
        found.push({ line: first + at, words: rest!.match(/(?:'[^']*'|"[^"]*"|\S)+/g) ?? [] });
    }
  }
  return found;
}

function problemsOf(program: Command, words: readonly string[]): string[] {
  const problems: string[] = [];
  let command = program;
  let name = 'svc';
  let isInArguments = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === '--') break;
    if (/^-./.test(word)) {
      const [flag] = word.split('=');
      const option = [...command.options, ...program.options].find(
        ({ long, short }) => long === flag || short === flag,
      );
      if (option === undefined && !/^(-h|--help)$/.test(flag!))
        problems.push(`no option ${flag} in \`${name}\``);
      if (option?.required && !word.includes('=')) at++;
    } else if (!isInArguments) {
      const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
      if (next) [command, name] = [next, `${name} ${word}`];
      else if (command.commands.length > 0 && word !== 'help') {
        return [`no command '${word}' in \`${name}\``];
      } else isInArguments = true;
    }
  }
  return problems;
}
