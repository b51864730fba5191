import { basename, dirname } from 'node:path';
import type { BuildLogEntry, Template } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatDuration } from '../../output/format.js';
import { startProgress } from '../../output/progress.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';
import { wholeNumber } from '../../parse/number.js';
import { collectList } from '../../parse/pairs.js';
import { nameFor } from './starter.js';

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

/** What is to be built, and its name. @throws {UsageError} for both a path and a built-in template, or an unknown one */
async function readTemplate(
  path: string | undefined,
  { name: given, builtin }: BuildFlags,
): Promise<{ template: Template; name: string }> {
  if (builtin === undefined) {
    const { readDefinition } = await import('./read-definition.js');
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
export function formatBuildEntry({ level, message, step }: BuildLogEntry, style: Style): string {
  const text = printable(message.trimEnd());
  const mark = { debug: style.dim, info: (plain: string) => plain, warn: style.yellow, error: style.red }[
    level
  ];
  return `${style.dim((step ?? '').padEnd(8))} ${mark(text)}`;
}
