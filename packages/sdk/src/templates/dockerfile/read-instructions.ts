import { InvalidRequestError } from '../../errors/answer-errors.js';

/** One instruction of a Dockerfile, its lines joined. */
export interface DockerInstruction {
  /** Upper case. */
  readonly name: string;
  /** Flags such as `--chown=app`, by name. */
  readonly flags: Readonly<Record<string, string>>;
  readonly rest: string;
  /** Bodies of here-documents. */
  readonly documents: readonly string[];
  /** Where it begins, from 1. */
  readonly line: number;
}

/** The error for a line that cannot be used. */
export function dockerfileError(line: number, problem: string): InvalidRequestError {
  return new InvalidRequestError(`Dockerfile line ${line}: ${problem}`);
}

/** Splits a Dockerfile into instructions: comments, continued lines, the escape directive, here-documents. Pure. */
export function readInstructions(text: string): DockerInstruction[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const continuation = /^\s*#\s*escape\s*=\s*`\s*$/im.test(lines.slice(0, leadingComments(lines)).join('\n'))
    ? '`'
    : '\\';
  const instructions: DockerInstruction[] = [];
  for (let index = 0; index < lines.length; index++) {
    if (isBlank(lines[index])) continue;
    const line = index + 1;
    let joined = '';
    for (;;) {
      const part = lines[index] ?? '';
      // Comments and empty lines between continued ones do not end the instruction.
      if (joined !== '' && isBlank(part)) {
        if (index + 1 >= lines.length) break;
        index++;
        continue;
      }
      const trimmed = part.trimEnd();
      if (!trimmed.endsWith(continuation) || index + 1 >= lines.length) {
        joined += trimmed.endsWith(continuation) ? trimmed.slice(0, -1) : part;
        break;
      }
      joined += trimmed.slice(0, -1);
      index++;
    }
    const [, name = '', after = ''] = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(joined) ?? [];
    if (name === '') throw dockerfileError(line, `"${joined.trim().slice(0, 60)}" is no instruction.`);
    const { flags, rest } = readFlags(after.trim());
    const documents: string[] = [];
    for (const { mark, tabs } of /^(RUN|COPY|ADD)$/i.test(name) ? hereDocuments(rest) : []) {
      const body: string[] = [];
      for (;;) {
        index++;
        const next = lines[index];
        if (next === undefined) throw dockerfileError(line, `the here-document ${mark} has no end.`);
        const content = tabs ? next.replace(/^\t+/, '') : next;
        if (content === mark) break;
        body.push(content);
      }
      documents.push(body.join('\n'));
    }
    instructions.push({ name: name.toUpperCase(), flags, rest, documents, line });
  }
  return instructions;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || /^\s*(#|$)/.test(line);
}

function leadingComments(lines: readonly string[]): number {
  const first = lines.findIndex((line) => !line.trim().startsWith('#'));
  return first < 0 ? lines.length : first;
}

function readFlags(text: string): { flags: Record<string, string>; rest: string } {
  const flags: Record<string, string> = {};
  let rest = text;
  for (
    let match = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(rest);
    match;
    match = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(rest)
  ) {
    flags[match[1] as string] = match[2] ?? 'true';
    rest = rest.slice(match[0].length);
  }
  return { flags, rest };
}

function hereDocuments(text: string): { mark: string; tabs: boolean }[] {
  return [...text.matchAll(/(?<!<)<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/g)].map((match) => ({
    mark: match[3] as string,
    tabs: match[1] === '-',
  }));
}
