import { quote } from '../../commands/shell.js';
import { type DockerInstruction, dockerfileError, readInstructions } from './read-instructions.js';
import { readJsonForm, readPairs, splitWords, substitute } from './words.js';

/** Instructions that say something about an image and nothing about what is in it. */
const descriptive = new Set(['EXPOSE', 'LABEL', 'MAINTAINER', 'STOPSIGNAL', 'VOLUME', 'HEALTHCHECK']);

/** What a Dockerfile is followed on: a template, whose methods give the next one. */
export interface DockerfileTarget<Target> {
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

interface Progress<Target> {
  template: Target;
  args: Record<string, string>;
  env: Record<string, string>;
  entrypoint: string | undefined;
  command: string | undefined;
  /** Whether ENTRYPOINT has the JSON form, to which CMD is appended. */
  execForm: boolean;
}

/** Follows a Dockerfile, instruction by instruction, on what `startFrom` makes of its image. */
export function applyDockerfile<Target extends DockerfileTarget<Target>>(
  text: string,
  startFrom: (image: string) => Target,
  buildArgs: Readonly<Record<string, string>>,
): Target {
  const instructions = readInstructions(text);
  const args: Record<string, string> = {};
  const from = instructions.findIndex(({ name }) => name === 'FROM');
  for (const instruction of from < 0 ? instructions : instructions.slice(0, from)) {
    if (instruction.name !== 'ARG')
      throw dockerfileError(instruction.line, `${instruction.name} comes before FROM.`);
    Object.assign(args, readArgs(instruction, buildArgs, {}));
  }
  const first = instructions[from];
  if (!first) throw dockerfileError(1, 'there is no FROM instruction.');
  const second = instructions.slice(from + 1).find(({ name }) => name === 'FROM');
  if (second) {
    throw dockerfileError(
      second.line,
      'a second FROM: builds of several stages are not supported. Build one stage, or build the image elsewhere and use Template.fromImage.',
    );
  }
  const image = readImage(first, args);
  const progress: Progress<Target> = {
    // Docker begins as root in /, templates elsewhere.
    template: startFrom(image).user('root').workdir('/'),
    args: {},
    env: {},
    entrypoint: undefined,
    command: undefined,
    execForm: false,
  };
  for (const instruction of instructions.slice(from + 1)) apply(instruction, progress, buildArgs, args);
  const { entrypoint, command, execForm, template } = progress;
  // In the shell form ENTRYPOINT takes no arguments from CMD.
  const line =
    entrypoint === undefined
      ? command
      : execForm && command !== undefined
        ? `${entrypoint} ${command}`
        : entrypoint;
  return line === undefined ? template : template.start(line);
}

function readImage({ rest, line, flags }: DockerInstruction, args: Record<string, string>): string {
  if (flags.platform !== undefined && !/amd64|\$/.test(flags.platform)) {
    throw dockerfileError(line, `--platform=${flags.platform} is not supported: leave it out.`);
  }
  const [image, as, stage, ...more] = splitWords(rest, line).map((word) => substitute(word, args));
  const fine = more.length === 0 && (as === undefined || (as.toUpperCase() === 'AS' && stage !== undefined));
  if (image === undefined || image === '' || !fine) {
    throw dockerfileError(line, `FROM needs an image, as in "FROM debian:12", got "${rest}".`);
  }
  if (image === 'scratch')
    throw dockerfileError(line, 'FROM scratch is not supported: start from an image with a shell.');
  return image;
}

function readArgs(
  { rest, line }: DockerInstruction,
  buildArgs: Readonly<Record<string, string>>,
  inherited: Readonly<Record<string, string>>,
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const word of splitWords(rest, line)) {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw dockerfileError(line, `"${name}" is no name of a variable.`);
    const value =
      buildArgs[name] ??
      (at < 0 ? inherited[name] : substitute(word.slice(at + 1), { ...inherited, ...result }));
    if (value !== undefined) result[name] = value;
  }
  return result;
}

function apply<Target extends DockerfileTarget<Target>>(
  instruction: DockerInstruction,
  progress: Progress<Target>,
  buildArgs: Readonly<Record<string, string>>,
  globalArgs: Readonly<Record<string, string>>,
): void {
  const { name, rest, line, documents } = instruction;
  const values = { ...progress.args, ...progress.env };
  const { template } = progress;
  switch (name) {
    case 'RUN':
      if (rest === '') throw dockerfileError(line, 'RUN needs a command.');
      progress.template = template.run(runLine(rest, documents));
      return;
    case 'COPY':
    case 'ADD':
      progress.template = addCopy(instruction, template, values);
      return;
    case 'ENV': {
      const pairs = readPairs(rest, line, name).map(([key, value]) => [key, substitute(value, values)]);
      Object.assign(progress.env, Object.fromEntries(pairs));
      progress.template = template.env(Object.fromEntries(pairs));
      return;
    }
    case 'ARG': {
      const args = readArgs(instruction, buildArgs, globalArgs);
      Object.assign(progress.args, args);
      progress.template = template.arg(args);
      return;
    }
    case 'WORKDIR':
      if (rest === '') throw dockerfileError(line, 'WORKDIR needs a path.');
      progress.template = template.workdir(substitute(rest.replace(/^(["'])(.*)\1$/, '$2'), values));
      return;
    case 'USER': {
      const user = substitute(rest, values).split(':')[0] ?? '';
      if (user === '') throw dockerfileError(line, 'USER needs a name.');
      if (/^\d+$/.test(user) && user !== '0') {
        throw dockerfileError(
          line,
          `USER ${user} is a number: users are known by name here. Make one first, then name it.`,
        );
      }
      progress.template = template.user(user === '0' ? 'root' : user);
      return;
    }
    case 'CMD':
    case 'ENTRYPOINT': {
      if (rest === '') throw dockerfileError(line, `${name} needs a command.`);
      const list = readJsonForm(rest);
      const command = list ? list.map(quote).join(' ') : rest;
      if (name === 'CMD') progress.command = command || undefined;
      else
        Object.assign(progress, {
          entrypoint: command || undefined,
          execForm: list !== undefined,
          command: undefined,
        });
      return;
    }
    case 'SHELL':
      if (/^\["(\/bin\/)?(ba)?sh"/.test(rest)) return;
      throw dockerfileError(line, 'SHELL is not supported: commands run by bash. Call another shell in RUN.');
    case 'ONBUILD':
      throw dockerfileError(line, 'ONBUILD is not supported: templates have no builds on top of them.');
    case 'FROM':
      return;
    default:
      if (descriptive.has(name)) return;
      throw dockerfileError(line, `${name} is no instruction that is known here.`);
  }
}

function runLine(rest: string, documents: readonly string[]): string {
  const list = readJsonForm(rest);
  if (list) return list.map(quote).join(' ');
  if (documents.length === 0) return rest;
  const [only] = documents;
  // `RUN <<EOF` alone is a script; otherwise the shell reads the here-documents itself.
  if (documents.length === 1 && /^<<-?["']?[A-Za-z_]\w*["']?$/.test(rest)) return `set -e\n${only}`;
  const marks = [...rest.matchAll(/<<-?["']?([A-Za-z_]\w*)["']?/g)].map((match) => match[1]);
  return [rest, ...documents.map((body, index) => `${body}\n${marks[index]}`)].join('\n');
}

function addCopy<Target extends DockerfileTarget<Target>>(
  { name, rest, flags, documents, line }: DockerInstruction,
  template: Target,
  values: Readonly<Record<string, string>>,
): Target {
  if (flags.from !== undefined)
    throw dockerfileError(line, `${name} --from is not supported: there is one stage only.`);
  if (documents.length > 0)
    throw dockerfileError(line, `${name} from a here-document is not supported: write the file with RUN.`);
  const words = (readJsonForm(rest) ?? splitWords(rest, line)).map((word) => substitute(word, values));
  const target = words.pop();
  if (target === undefined || words.length === 0)
    throw dockerfileError(line, `${name} needs a source and a target.`);
  const remote = words.find((word) => /^(https?|git|ssh):|^git@/.test(word));
  if (remote !== undefined)
    throw dockerfileError(line, `${name} from ${remote} is not supported: fetch it with RUN curl.`);
  const archive =
    name === 'ADD' ? words.find((word) => /\.(tar|tar\.\w+|tgz|tbz2|txz)$/.test(word)) : undefined;
  if (archive !== undefined)
    throw dockerfileError(line, `ADD does not unpack ${archive} here: COPY it and unpack it with RUN tar.`);
  const { chmod, chown } = flags;
  if (chmod !== undefined && !/^[0-7]{3,4}$/.test(chmod)) {
    throw dockerfileError(line, `--chmod=${chmod} must be 3 or 4 octal digits.`);
  }
  const isMany = words.length > 1 && !target.endsWith('/');
  return template.copy(words, isMany ? `${target}/` : target, {
    user: chown === undefined ? undefined : substitute(chown, values),
    mode: chmod === undefined ? undefined : Number.parseInt(chmod, 8),
  });
}
