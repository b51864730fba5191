import { InvalidRequestError } from '../../errors/answer-errors.js';

/** The character that makes the next one plain, and continues a line. */
export type Escape = '\\' | '`';

/** Text that stands in the lines behind an instruction. */
export interface HereDocument {
  /** The line that ends it. */
  readonly mark: string;
  readonly body: string;
}

/** One instruction of a Dockerfile, its lines joined. */
export interface DockerInstruction {
  /** Upper case. */
  readonly name: string;
  /** Flags such as `--chown=app` in order, as names and values; without a value: `true`. */
  readonly flags: readonly (readonly [string, string])[];
  readonly rest: string;
  readonly documents: readonly HereDocument[];
  /** Where it begins, from 1. */
  readonly line: number;
  readonly escaping: Escape;
}

/** The error for a line that cannot be used. */
export function dockerfileError(line: number, problem: string): InvalidRequestError {
  return new InvalidRequestError(`Dockerfile line ${line}: ${problem}`);
}

/** Splits a Dockerfile into instructions: comments, continued lines, the escape directive, here-documents. Pure. */
export function readInstructions(text: string): DockerInstruction[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const escaping = readEscape(lines);
  // Two of them are one that is meant.
  const continued = escaping === '`' ? /(^|[^`])`[ \t]*$/ : /(^|[^\\])\\[ \t]*$/;
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
      if (!continued.test(part)) {
        joined += part;
        break;
      }
      joined += part.replace(continued, '$1');
      if (index + 1 >= lines.length) break;
      index++;
    }
    const [, name = '', after = ''] = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(joined) ?? [];
    if (name === '') throw dockerfileError(line, `"${joined.trim().slice(0, 60)}" is no instruction.`);
    const { flags, rest } = readFlags(after.trim());
    const documents: HereDocument[] = [];
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
      documents.push({ mark, body: body.join('\n') });
    }
    instructions.push({ name: name.toUpperCase(), flags, rest, documents, line, escaping });
  }
  return instructions;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || /^\s*(#|$)/.test(line);
}

/** Directives are the first lines of the file; the first comment that is none ends them. */
function readEscape(lines: readonly string[]): Escape {
  for (const line of lines) {
    const [, name, value] = /^\s*#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (name === undefined) break;
    if (name.toLowerCase() === 'escape' && value === '`') return '`';
  }
  return '\\';
}

function readFlags(text: string): { flags: [string, string][]; rest: string } {
  const flags: [string, string][] = [];
  const flag = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/;
  let rest = text;
  for (let match = flag.exec(rest); match; match = flag.exec(rest)) {
    flags.push([match[1] as string, match[2] ?? 'true']);
    rest = rest.slice(match[0].length);
  }
  return { flags, rest };
}

/** Returns the beginnings of here-documents: words of their own, so neither `$((1<<N))` nor text between quotes. */
function hereDocuments(text: string): { mark: string; tabs: boolean }[] {
  const found: { mark: string; tabs: boolean }[] = [];
  const tokens =
    /(?<=^|\s)\d*<<(?!<)(?<dash>-?)(?<quote>["']?)(?<mark>[A-Za-z_]\w*)\k<quote>|\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"|'[^']*'/g;
  for (const { groups } of text.matchAll(tokens))
    if (groups?.mark !== undefined) found.push({ mark: groups.mark, tabs: groups.dash === '-' });
  return found;
}
