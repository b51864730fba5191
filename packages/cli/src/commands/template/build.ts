import { mkdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BuildLogEntry, Template } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError, UsageError } from '../../errors/cli-error.js';
import { formatDuration } from '../../output/format.js';
import { startProgress } from '../../output/progress.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';
import { wholeNumber } from '../../parse/number.js';
import { collectList } from '../../parse/pairs.js';

interface BuildFlags {
  name?: string;
  builtin?: string;
  tag?: string[];
  cpu?: number;
  memory?: number;
  disk?: number;
  cache: boolean;
}

export function addBuild(template: Command): void {
  leaf(template, 'build [path]', 'build a template from svc.template.mjs or a Dockerfile, and show its log')
    .option('--name <name>', 'name or name:tag (default: from the file, else the directory)')
    .option('--builtin <template>', 'build a template that comes with svc instead: code-interpreter')
    .option('--tag <tags>', 'more tags; repeatable', collectList)
    .option('--cpu <count>', 'cores of its sandboxes: 1 or an even number', wholeNumber('--cpu', 1, 32))
    .option('--memory <MiB>', 'memory of its sandboxes', wholeNumber('--memory', 128, 1_048_576))
    .option('--disk <MiB>', 'free disk of its sandboxes', wholeNumber('--disk', 1, 1_048_576))
    .option('--no-cache', 'run every step again')
    .action(
      act(async (cli, path: string | undefined, flags: BuildFlags) => {
        const client = await cli.client();
        const { template, name } = await readTemplate(path, flags);
        const { signal } = cli;
        const startedAt = Date.now();
        const progress = startProgress(cli.out, `Uploading what ${name} needs`);
        try {
          const build = await client.templates.build(template, {
            name,
            signal,
            tags: flags.tag,
            cpuCount: flags.cpu,
            memoryMiB: flags.memory,
            minFreeDiskMiB: flags.disk,
            ...(flags.cache ? {} : { force: true }),
          });
          progress.done();
          for await (const entry of build.logs({ signal }))
            cli.out.note(formatBuildEntry(entry, cli.out.errorStyle));
          const { templateId, buildId, status } = await build.wait({ signal });
          cli.out.result({ name, templateId, buildId, status }, () => `${name}  ${templateId}\n`);
          cli.out.note(
            `Built in ${formatDuration(Date.now() - startedAt)}. Next: svc sandbox create ${name}`,
          );
        } catch (error) {
          if (signal.aborted) cli.out.note('The build continues on the service.');
          throw error;
        } finally {
          progress.done();
        }
      }),
    );
}

/** Returns the template to build, and its name. @throws {UsageError} for both a path and a built-in template, or an unknown one */
async function readTemplate(
  path: string | undefined,
  { name: given, builtin }: BuildFlags,
): Promise<{ template: Template; name: string }> {
  if (builtin === undefined) {
    const { template, file, name } = await readDefinition(path ?? '.');
    return { template, name: given ?? name ?? nameFor(basename(dirname(file))) };
  }
  const { codeInterpreter, codeInterpreterName } = await import('@svc/code-interpreter');
  if (path !== undefined) throw new UsageError('Give a path or --builtin, not both.');
  if (builtin !== codeInterpreterName)
    throw new UsageError(`--builtin knows ${codeInterpreterName}, not ${JSON.stringify(builtin)}.`);
  return { template: codeInterpreter(), name: given ?? codeInterpreterName };
}

/** One entry of the log of a build on one line. Pure. */
function formatBuildEntry({ level, message, step }: BuildLogEntry, style: Style): string {
  const text = printable(message.trimEnd());
  const mark = { debug: style.dim, info: (plain: string) => plain, warn: style.yellow, error: style.red }[
    level
  ];
  return `${style.dim((step ?? '').padEnd(8))} ${mark(text)}`;
}

export function addLogs(template: Command): void {
  leaf(
    template,
    'logs <name> [build]',
    'show the log of a build (default: the latest); follows it while it runs',
  )
    .addOption(
      new Option('--level <level>', 'lowest level to show').choices(['debug', 'info', 'warn', 'error']),
    )
    .action(
      act(
        async (cli, name: string, wanted: string | undefined, flags: { level?: BuildLogEntry['level'] }) => {
          const client = await cli.client();
          const { signal } = cli;
          const { templateId, builds } = await client.templates.get(name, { limit: 1, signal });
          const buildId = wanted ?? builds[0]?.buildId;
          if (buildId === undefined)
            throw new CliError(`${name} was never built.`, { hint: '`svc template build` builds it.' });
          const build = client.templates.openBuild({ templateId, buildId });
          for await (const entry of build.logs({ signal })) {
            if (weights[entry.level] < weights[flags.level ?? 'debug']) continue;
            cli.out.record({ ...entry, timestamp: entry.timestamp.toISOString() }, () =>
              formatBuildEntry(entry, cli.out.style),
            );
          }
          const { status } = await build.status({ signal });
          cli.out.note(`Build ${buildId}: ${status}.`);
        },
      ),
    );
}

const weights = { debug: 0, info: 1, warn: 2, error: 3 } as const;

export function addInit(template: Command): void {
  leaf(template, 'init [dir]', `write a ${templateFileName} to start from`)
    .option('--name <name>', 'name of the template (default: that of the directory)')
    .option('--force', 'replace an existing file')
    .action(
      act(async (cli, dir: string | undefined, flags: { name?: string; force?: boolean }) => {
        const directory = resolve(dir ?? '.');
        const name = flags.name ?? nameFor(basename(directory));
        const file = join(directory, templateFileName);
        await mkdir(directory, { recursive: true });
        await writeFile(file, starterText(name), { flag: flags.force ? 'w' : 'wx' }).catch(
          (error: NodeJS.ErrnoException) => {
            if (error.code !== 'EEXIST') throw error;
            throw new CliError(`${file} already exists.`, { hint: 'Replace it with --force.' });
          },
        );
        cli.out.result({ file, name }, () => `Wrote ${file}\n`);
        cli.out.note(`Build it with: svc template build${dir === undefined ? '' : ` ${dir}`}`);
      }),
    );
}

/** Name of the file that says what a template consists of. */
const templateFileName = 'svc.template.mjs';

/** A first template, to be changed. It needs nothing installed: the SDK's builder is handed in. Pure. */
function starterText(name: string): string {
  return `// What sandboxes of the template "${name}" start from. Build it with: svc template build
const name = ${JSON.stringify(name)};

export default ({ Template }) =>
  Template.from('base')
    .env({ GREETING: 'hello' })
    .run('mkdir -p ~/app && echo "made by the build" > ~/app/notes.txt');
// More steps: .copy('src/', 'app/'), .workdir('/home/user/app'), .user('worker'),
// .start('python3 -m http.server 8000', 'curl -sf http://localhost:8000/') for a program that runs from the start.
`;
}

/** A name that templates may have, made of that of a directory. Pure. */
function nameFor(directory: string): string {
  const name = directory
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'my-template' : name;
}

/** A template that was read from a file. */
interface ReadTemplate {
  template: Template;
  file: string;
  /** The template's name in the file itself. */
  name: string | undefined;
}

/**
 * Reads a template from a file or the directory it is in: a module whose default export is a `Template`, or a function
 * that is given the SDK and makes one; else a Dockerfile.
 */
async function readDefinition(path: string): Promise<ReadTemplate> {
  const sdk = await import('@svc/sdk');
  const file = await findFile(resolve(path));
  if (definitionKind(file) === 'dockerfile')
    return { template: sdk.Template.fromDockerfile(file), file, name: undefined };
  // Sources of COPY are relative to the file, wherever the command was typed.
  process.chdir(dirname(file));
  const module = await loadModule(file);
  const made = typeof module.default === 'function' ? await module.default(sdk) : module.default;
  if (typeof made !== 'object' || made === null || !('definition' in made))
    throw new CliError(`${file} does not export a template.`, {
      hint: "Its default export must be a Template, or a function that makes one: export default ({ Template }) => Template.from('base')",
    });
  return {
    template: made as Template,
    file,
    name: typeof module.name === 'string' ? module.name : undefined,
  };
}

/**
 * Returns the way in which a file defines a template. Pure.
 * @throws {CliError} for files that are neither
 */
export function definitionKind(file: string): 'module' | 'dockerfile' {
  const name = basename(file);
  if (/\.[cm]?[jt]s$/.test(name)) return 'module';
  if (!name.includes('.') || /dockerfile|containerfile/i.test(name)) return 'dockerfile';
  throw new CliError(`${file} is neither a module nor a Dockerfile.`, {
    exitCode: 2,
    code: 'usage',
    hint: 'A module ends with .mjs, .js or .ts; a Dockerfile has "Dockerfile" in its name.',
  });
}

async function loadModule(file: string): Promise<{ default?: unknown; name?: unknown }> {
  try {
    return (await import(pathToFileURL(file).href)) as { default?: unknown; name?: unknown };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    throw new CliError(`Node.js ${process.versions.node} does not read TypeScript: ${file}.`, {
      code: 'typescript',
      cause: error,
      hint: 'Use Node.js 22.18 or newer, write the template as .mjs, or load a compiler: NODE_OPTIONS="--import tsx".',
    });
  }
}

async function findFile(path: string): Promise<string> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) throw new CliError(`${path} does not exist.`);
  if (!facts.isDirectory()) return path;
  for (const name of [templateFileName, 'svc.template.ts', 'Dockerfile']) {
    const file = join(path, name);
    if (await stat(file).catch(() => undefined)) return file;
  }
  throw new CliError(`${path} has neither ${templateFileName} nor a Dockerfile.`, {
    hint: '`svc template init` writes one.',
  });
}
