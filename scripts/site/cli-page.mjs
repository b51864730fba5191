// The reference of `svc` as one Markdown page: the help of every command, as the program prints it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../generate/run.mjs';

/** @throws Error when the CLI was not built */
export async function cliPage() {
  const built = join(repository, 'packages/cli/dist/program/program.js');
  if (!existsSync(built)) throw new Error('The CLI is not built: run `npm run build` first.');
  const { buildProgram } = await import(built);
  const program = await buildProgram([], { all: true });
  const parts = ['# CLI reference', 'Every command of `svc`, as `svc help COMMAND` prints it.'];
  const visit = (command, name) => {
    const level = Math.min(name.split(' ').length + 1, 4);
    command.configureHelp({ ...command.configureHelp(), helpWidth: 100 });
    parts.push(`${'#'.repeat(level)} ${name}`, fenced(helpOf(command)));
    for (const child of command.commands) visit(child, `${name} ${child.name()}`);
  };
  visit(program, 'svc');
  return `${parts.join('\n\n')}\n`;
}

/** With the examples and notes that commands add behind their help, which `helpInformation` leaves out. */
function helpOf(command) {
  let text = '';
  const before = command.configureOutput();
  command.configureOutput({ ...before, writeOut: (piece) => (text += piece) });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}

const fenced = (text) => `\`\`\`\`text\n${text.trimEnd()}\n\`\`\`\``;
