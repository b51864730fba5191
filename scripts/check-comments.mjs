#!/usr/bin/env node
// Checks that no comment of the sources begins with a word that makes a title of it instead of a sentence.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './generate/run.mjs';

const FIRST_WORD = /^\s*(?:\/\*\*|\*|\/\/) *(What|Whether|How|Who|Whoever)\b/;
const sources = execFileSync(
  'git',
  ['ls-files', '-z', '*.ts', '*.tsx', '*.mts', '*.mjs', '*.go', '*.proto'],
  {
    cwd: repository,
    encoding: 'utf8',
  },
)
  .split('\0')
  .filter((file) => /^(?:packages|examples|proto|scripts)\//.test(file) && !/\/gen\//.test(file));
const problems = sources.flatMap((file) =>
  readFileSync(join(repository, file), 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      const word = FIRST_WORD.exec(line)?.[1];
      return word === undefined
        ? []
        : [`${file}:${at + 1}: a comment begins with "${word}": begin with a verb or a noun`];
    }),
);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`Comments of ${sources.length} files begin as sentences do.`);
}
