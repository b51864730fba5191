import { formatStepText, type StepText } from '@svc/platform';
import { quote } from '../../commands/shell.js';
import {
  type DockerInstruction,
  dockerfileError,
  type HereDocument,
  readInstructions,
} from './read-instructions.js';
import { DockerVariables } from './variables.js';
import { readJsonForm, readPairs, readWord, splitWords } from './words.js';

/** Instructions that say something about an image and nothing about what is in it. */
const DESCRIPTIVE = new Set(['EXPOSE', 'LABEL', 'MAINTAINER']);

/** Instructions that do something where images run, and nothing here. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  HEALTHCHECK: 'use Template.ready to say when a template is ready',
  STOPSIGNAL: 'sandboxes end without a signal',
  VOLUME: 'the directory is one as all others; volumes are mounted when a sandbox is created',
};

/** Flags that are done, or change nothing that a build leaves. */
const FLAGS: Readonly<Record<string, ReadonlySet<string>>> = {
  FROM: new Set(['platform']),
  RUN: new Set(['mount', 'network']),
  COPY: new Set(['chown', 'chmod', 'link', 'from']),
  ADD: new Set(['chown', 'chmod', 'link']),
  HEALTHCHECK: new Set(['interval', 'timeout', 'start-period', 'start-interval', 'retries']),
};

/** The target of a Dockerfile's steps: a template, whose methods give the next one. */
interface DockerfileTarget<Target> {
  run(command: string): Target;
  copy(
    source: readonly string[],
    target: string,
    options: { user?: string | undefined; mode?: number | undefined },
  ): Target;
  env(variables: Record<string, string>): Target;
  arg(variables: Record<string, string>): Target;
  workdir(path: string): Target;
  user(name: string): Target;
  start(command: string): Target;
}

/** A command of CMD or ENTRYPOINT: its words, or a line for a shell. */
type Command = { words: readonly string[] } | { line: string };

interface Progress<Target> {
  template: Target;
  variables: DockerVariables;
  shell: readonly string[] | undefined;
  entrypoint: Command | undefined;
  command: Command | undefined;
  /** Instructions that are left out, for the log of the build. */
  warnings: string[];
}

/** Follows a Dockerfile, instruction by instruction, on what `startFrom` makes of its image. */
export function applyDockerfile<Target extends DockerfileTarget<Target>>(
  text: string,
  startFrom: (image: string) => Target,
  buildArgs: Readonly<Record<string, string>>,
): { template: Target; warnings: string[] } {
  const instructions = readInstructions(text);
  const variables = new DockerVariables(buildArgs);
  const from = instructions.findIndex(({ name }) => name === 'FROM');
  for (const instruction of from < 0 ? instructions : instructions.slice(0, from)) {
    refuseFlags(instruction);
    if (instruction.name !== 'ARG')
      throw dockerfileError(instruction.line, `${instruction.name} comes before FROM.`);
    variables.addGlobal(instruction);
  }
  const first = instructions[from];
  if (!first) throw dockerfileError(1, 'there is no FROM instruction.');
  const second = instructions.slice(from + 1).find(({ name }) => name === 'FROM');
  if (second) {
    throw dockerfileError(
      second.line,
      'a second FROM: builds of several stages are not supported. Build one stage, or build the image on your machine and use Template.fromImage.',
    );
  }
  const progress: Progress<Target> = {
    // Docker begins as root in /, templates do not.
    template: startFrom(readImage(first, variables)).user('root').workdir('/'),
    variables,
    shell: undefined,
    entrypoint: undefined,
    command: undefined,
    warnings: [],
  };
  for (const instruction of instructions.slice(from + 1)) apply(instruction, progress);
  const { template, warnings } = progress;
  const line = startLine(progress);
  return { template: line === undefined ? template : template.start(line), warnings };
}

/** In the shell form ENTRYPOINT takes no arguments from CMD; in the JSON form it takes all, a line with its shell. */
function startLine({ entrypoint, command, shell }: Progress<unknown>): string | undefined {
  if (entrypoint !== undefined && 'line' in entrypoint) return byShell(entrypoint.line, shell);
  const isArgument = entrypoint !== undefined;
  const words = (entrypoint?.words ?? []).map(quote);
  if (command !== undefined && 'words' in command) words.push(...command.words.map(quote));
  else if (command !== undefined)
    words.push(byShell(command.line, isArgument ? (shell ?? ['/bin/sh', '-c']) : shell));
  return words.length === 0 ? undefined : words.join(' ');
}

function readImage(instruction: DockerInstruction, variables: DockerVariables): string {
  const { rest, line, flags, escaping } = instruction;
  refuseFlags(instruction);
  for (const [, platform] of flags)
    if (!/amd64|\$/.test(platform))
      throw dockerfileError(line, `--platform=${platform} is not supported: leave it out.`);
  const words = splitWords(rest, escaping).map((word) => readWord(word, line, escaping));
  const [image, as, stage, ...more] = words.map((word) => variables.globalValue(word, line));
  const fine = more.length === 0 && (as === undefined || (as.toUpperCase() === 'AS' && stage !== undefined));
  if (image === undefined || image === '' || !fine) {
    throw dockerfileError(line, `FROM needs an image, as in "FROM debian:12", got "${rest}".`);
  }
  if (image === 'scratch')
    throw dockerfileError(line, 'FROM scratch is not supported: start from an image with a shell.');
  return image;
}

function apply<Target extends DockerfileTarget<Target>>(
  instruction: DockerInstruction,
  progress: Progress<Target>,
): void {
  const { name, rest, line, escaping } = instruction;
  const { template, variables, shell } = progress;
  refuseFlags(instruction);
  switch (name) {
    case 'RUN':
      checkRunFlags(instruction, progress.warnings);
      progress.template = template.run(runLine(instruction, shell));
      return;
    case 'COPY':
    case 'ADD':
      progress.template = addCopy(instruction, template, variables);
      return;
    case 'ENV':
      progress.template = template.env(variables.addEnv(readPairs(rest, line, escaping), line));
      return;
    case 'ARG':
      progress.template = template.arg(variables.addArgs(instruction));
      return;
    case 'WORKDIR':
      if (rest === '') throw dockerfileError(line, 'WORKDIR needs a path.');
      progress.template = template.workdir(formatStepText(readWord(rest, line, escaping)));
      return;
    case 'USER':
      progress.template = template.user(readUser(instruction));
      return;
    case 'CMD':
      progress.command = readCommand(instruction);
      return;
    case 'ENTRYPOINT':
      progress.entrypoint = readCommand(instruction);
      return;
    case 'SHELL': {
      const words = readJsonForm(rest);
      if (words === undefined || words.length === 0)
        throw dockerfileError(line, 'SHELL needs the JSON form, as in SHELL ["/bin/bash", "-c"].');
      progress.shell = words;
      return;
    }
    case 'ONBUILD':
      throw dockerfileError(line, 'ONBUILD is not supported: templates have no builds on top of them.');
    default: {
      const why = Object.hasOwn(WITHOUT_EFFECT, name) ? WITHOUT_EFFECT[name] : undefined;
      if (why !== undefined)
        progress.warnings.push(`Dockerfile line ${line}: ${name} has no effect here: ${why}.`);
      else if (!DESCRIPTIVE.has(name))
        throw dockerfileError(line, `${name} is no instruction that is known here.`);
    }
  }
}

function refuseFlags({ name, flags, line }: DockerInstruction): void {
  const known = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
  const unknown = flags.find(([flag]) => !known?.has(flag));
  if (unknown !== undefined)
    throw dockerfileError(line, `${name} --${unknown[0]} is not supported: leave it out, or do it by RUN.`);
}

function checkRunFlags({ flags, line }: DockerInstruction, warnings: string[]): void {
  for (const [flag, value] of flags) {
    if (flag === 'network' && value !== 'default')
      throw dockerfileError(line, `RUN --network=${value} is not supported: leave it out.`);
    if (flag !== 'mount') continue;
    const type = /(?:^|,)type=([a-z]+)(?:,|$)/.exec(value)?.[1] ?? 'bind';
    if (type !== 'cache' && type !== 'tmpfs')
      throw dockerfileError(
        line,
        `RUN --mount=type=${type} is not supported: COPY what the command needs, or give it by ARG.`,
      );
    warnings.push(
      `Dockerfile line ${line}: RUN --mount=type=${type} has no effect here: what the command writes there stays in the template.`,
    );
  }
}

function readCommand({ name, rest, line }: DockerInstruction): Command | undefined {
  if (rest === '') throw dockerfileError(line, `${name} needs a command.`);
  const words = readJsonForm(rest);
  if (words === undefined) return { line: rest };
  return words.length === 0 ? undefined : { words };
}

function readUser({ rest, line, escaping }: DockerInstruction): string {
  const [user, group] = splitAtColon(readWord(rest, line, escaping)).map(formatStepText);
  if (user === undefined || user === '') throw dockerfileError(line, 'USER needs a name.');
  if (/^\d+$/.test(user) && user !== '0') {
    throw dockerfileError(
      line,
      `USER ${user} is a number: users are known by name here. Make one first, then name it.`,
    );
  }
  const named = (text: string) => (text === '0' ? 'root' : text);
  if (group !== undefined && named(group) !== named(user))
    throw dockerfileError(
      line,
      `USER ${rest}: users have the group of their own name here: write USER ${user}.`,
    );
  return named(user);
}

function splitAtColon(text: StepText): StepText[] {
  const index = text.findIndex((part) => typeof part === 'string' && part.includes(':'));
  if (index < 0) return [text];
  const part = text[index] as string;
  const at = part.indexOf(':');
  const before = [...text.slice(0, index), part.slice(0, at)];
  return [before, [part.slice(at + 1), ...text.slice(index + 1)]];
}

function addCopy<Target extends DockerfileTarget<Target>>(
  { name, rest, flags, documents, line, escaping }: DockerInstruction,
  template: Target,
  variables: DockerVariables,
): Target {
  const { from, chmod, chown } = Object.fromEntries(flags);
  if (from !== undefined)
    throw dockerfileError(line, `${name} --from is not supported: there is one stage only.`);
  if (documents.length > 0)
    throw dockerfileError(line, `${name} from a here-document is not supported: write the file with RUN.`);
  const read = (word: string) => readWord(word, line, escaping);
  const words = (readJsonForm(rest) ?? splitWords(rest, escaping)).map(read);
  const last = words.pop();
  if (last === undefined || words.length === 0)
    throw dockerfileError(line, `${name} needs a source and a target.`);
  const target = formatStepText(last);
  const sources = words.map((word) => variables.value(word, line));
  const remote = sources.find((word) => /^(https?|git|ssh):|^git@/.test(word));
  if (remote !== undefined)
    throw dockerfileError(line, `${name} from ${remote} is not supported: fetch it with RUN curl.`);
  const archive =
    name === 'ADD' ? sources.find((word) => /\.(tar|tar\.\w+|tgz|tbz2|txz)$/.test(word)) : undefined;
  if (archive !== undefined)
    throw dockerfileError(line, `ADD does not unpack ${archive} here: COPY it and unpack it with RUN tar.`);
  const mode = chmod === undefined ? undefined : variables.value(read(chmod), line);
  if (mode !== undefined && !/^[0-7]{3,4}$/.test(mode)) {
    throw dockerfileError(line, `--chmod=${mode} must be 3 or 4 octal digits.`);
  }
  const isMany = sources.length > 1 && !target.endsWith('/');
  return template.copy(sources, isMany ? `${target}/` : target, {
    user: chown === undefined ? undefined : formatStepText(read(chown)),
    mode: mode === undefined ? undefined : Number.parseInt(mode, 8),
  });
}

/** The command line of a RUN. @param shell of SHELL; undefined: the service's, a login shell */
function runLine({ rest, documents, line }: DockerInstruction, shell: readonly string[] | undefined): string {
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
function byShell(command: string, shell: readonly string[] | undefined): string {
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
