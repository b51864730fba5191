import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import type { CodeLanguage, Execution } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError, ExitWith } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { collectPairs } from '../../parse/pairs.js';

interface RunCodeFlags {
  language?: CodeLanguage;
  context?: string;
  env?: Record<string, string>;
  timeout?: number;
}

export function addRunCode(sandbox: Command): void {
  leaf(
    sandbox,
    'run-code <id> [file]',
    'run a cell of code, from a file or standard input, in a code interpreter',
  )
    .addOption(
      new Option('-l, --language <name>', 'default: by the name of the file, else python')
        .choices(['python', 'javascript', 'typescript', 'bash'])
        .conflicts('context'),
    )
    .option('--context <id>', 'the context to run it in (default: that of the language)')
    .option('-e, --env <NAME=value>', 'variable of this cell; repeatable', collectPairs)
    .option('--timeout <span>', 'interrupt it after this time: 90s, 10m (default: 1m)', parseDuration)
    .addHelpText(
      'after',
      `
Cells keep what they define for the next ones. The sandbox is one of the template code-interpreter:
  svc template build --builtin code-interpreter
  svc sandbox create code-interpreter
  echo 'x = 20' | svc sandbox run-code ID
  echo 'x + 22' | svc sandbox run-code ID`,
    )
    .action(
      act(async (cli, id: string, file: string | undefined, flags: RunCodeFlags) => {
        const code = file === undefined ? await text(cli.io.stdin) : await readCell(file);
        const language = flags.language ?? (flags.context === undefined ? languageOf(file) : undefined);
        const handle = await cli.sandbox(id);
        const execution = await handle.runCode(code, {
          language,
          context: flags.context,
          envs: flags.env,
          timeoutMs: flags.timeout,
          signal: cli.signal,
          ...(cli.options.json
            ? {}
            : {
                onStdout: (text) => void cli.io.stdout.write(text),
                onStderr: (text) => void cli.io.stderr.write(text),
              }),
        });
        cli.out.result(execution, () => shownText(execution));
        if (execution.error === undefined) return;
        const { name, value, traceback } = execution.error;
        cli.out.note(stripVTControlCharacters(traceback).trim() || `${name}: ${value}`);
        throw new ExitWith(1);
      }),
    );
}

/** Returns the text of the results, or their kinds when they have none. Pure. */
export function shownText({ results }: Pick<Execution, 'results'>): string {
  return results
    .map(({ text, extra, isMainResult, ...forms }) => `${text ?? `[${Object.keys(forms).join(', ')}]`}\n`)
    .join('');
}

const languages: Readonly<Record<string, CodeLanguage>> = {
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  ts: 'typescript',
  mts: 'typescript',
  sh: 'bash',
  bash: 'bash',
};

/** The language of a file's name; none for others, which leaves it to the service. Pure. */
export function languageOf(file: string | undefined): CodeLanguage | undefined {
  return languages[/\.(\w+)$/.exec(file ?? '')?.[1] ?? ''];
}

async function readCell(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
