import { quote } from '../../commands/shell.js';
import { type DockerInstruction, dockerfileError, type HereDocument } from './read-instructions.js';
import { readJsonForm } from './words.js';

/** The command line of a RUN. @param shell of SHELL; undefined: the service's, a login shell */
export function runLine(
  { rest, documents, line }: DockerInstruction,
  shell: readonly string[] | undefined,
): string {
  if (rest === '') throw dockerfileError(line, 'RUN needs a command.');
  const list = readJsonForm(rest);
  if (list !== undefined) return list.map(quote).join(' ');
  const [only] = documents;
  // `RUN <<EOF` alone is a script; otherwise the shell reads the here-documents itself.
  if (only !== undefined && documents.length === 1 && /^<<-?["']?\w+["']?$/.test(rest)) {
    if (only.body.startsWith('#!')) return runProgram(only);
    return byShell(`set -e\n${only.body}`, shell);
  }
  const texts = documents.map(({ body, mark }) => `${body === '' ? '' : `${body}\n`}${mark}`);
  return byShell([rest, ...texts].join('\n'), shell);
}

/** A command in the words of a shell. */
export function byShell(command: string, shell: readonly string[] | undefined): string {
  return shell === undefined ? command : [...shell, command].map(quote).join(' ');
}

/** Runs a script by the program that its first line names. */
function runProgram({ body }: HereDocument): string {
  let end = 'END';
  while (body.split('\n').includes(end)) end += '_';
  return `program=$(mktemp) && cat > "$program" <<'${end}'
${body}
${end}
chmod 755 "$program" && "$program"; code=$?; rm -f "$program"; exit $code`;
}
