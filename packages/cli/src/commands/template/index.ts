import type { BuildInfo, TemplateDetail } from '@svc/sdk';
import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { addDelete } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatAge } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';
import { addBuild, addInit, addLogs } from './build.js';

export function addTemplateCommands(template: Command): void {
  addInit(template);
  addBuild(template);
  addList(template);
  addInfo(template);
  addBuilds(template);
  addLogs(template);
  addTag(template);
  addAlias(template);
  addPublish(template);
  addUnpublish(template);
  addDelete(template, {
    usage: '<names...>',
    summary: 'delete templates, by name or id, with their builds',
    what: 'template',
    of: (client) => client.templates,
  });
}

function addList(template: Command): void {
  leaf(template, 'list', 'list the templates of the team, newest first')
    .alias('ls')
    .option('-q, --quiet', 'print only the names')
    .action(
      act(async (cli, { quiet }: { quiet?: boolean }) => {
        const client = await cli.client();
        const items = await client.templates.list({ signal: cli.signal }).toArray();
        const now = Date.now();
        const { style } = cli.out;
        const marks: Record<string, (text: string) => string> = {
          ready: style.green,
          uploaded: style.green,
          error: style.red,
        };
        cli.out.table(
          items,
          [
            { head: 'NAME', value: ({ aliases, templateId }) => aliases[0] ?? templateId },
            { head: 'ID', value: ({ templateId }) => templateId },
            { head: 'STATE', value: ({ buildStatus }) => (marks[buildStatus] ?? style.yellow)(buildStatus) },
            { head: 'CPU', value: ({ cpuCount }) => cpuCount, align: 'right' },
            { head: 'MEMORY', value: ({ memoryMiB }) => `${memoryMiB} MiB`, align: 'right' },
            { head: 'DISK', value: ({ diskMiB }) => `${diskMiB} MiB`, align: 'right' },
            { head: 'BUILDS', value: ({ buildCount }) => buildCount, align: 'right' },
            { head: 'USED', value: ({ spawnCount }) => spawnCount, align: 'right' },
            { head: 'UPDATED', value: ({ updatedAt }) => formatAge(updatedAt, now) },
          ],
          'No templates. `svc template init` writes a first one.',
          quiet ? ({ names, templateId }) => names[0] ?? templateId : undefined,
        );
      }),
    );
}

function addInfo(template: Command): void {
  leaf(template, 'info <name>', 'show a template, by name or id').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const { signal } = cli;
      const [found, tags] = await Promise.all([
        client.templates.get(name, { limit: 1, signal }),
        client.templates.tags.list(name, { signal }),
      ]);
      const { builds, nextToken: _token, ...facts } = found;
      const latest: BuildInfo | undefined = builds[0];
      const now = Date.now();
      cli.out.fields(
        { ...facts, latestBuild: latest, tags },
        {
          Template: found.templateId,
          Names: found.names.join('\n') || undefined,
          Seen: visibility(found),
          Tags: tags.map(({ tag, buildId }) => `${tag}  ${buildId}`).join('\n') || undefined,
          'Latest build': latest && `${latest.buildId} (${latest.status})`,
          Size: latest && sizeOf(latest),
          Created: formatAge(found.createdAt, now),
          Updated: formatAge(found.updatedAt, now),
          Used: `${found.spawnCount} times${found.lastSpawnedAt ? `, last ${formatAge(found.lastSpawnedAt, now)}` : ''}`,
        },
      );
    }),
  );
}

function addBuilds(template: Command): void {
  leaf(template, 'builds <name>', 'list the builds of a template, newest first')
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 100_000), 25)
    .option('-q, --quiet', 'print only the ids')
    .action(
      act(async (cli, name: string, { limit, quiet }: { limit: number; quiet?: boolean }) => {
        const client = await cli.client();
        const builds: BuildInfo[] = [];
        let nextToken: string | undefined;
        do {
          const page = { limit: Math.min(limit - builds.length, 100), nextToken, signal: cli.signal };
          const found = await client.templates.get(name, page);
          builds.push(...found.builds);
          nextToken = found.nextToken;
        } while (nextToken !== undefined && builds.length < limit);
        const now = Date.now();
        cli.out.table(
          builds,
          [
            { head: 'BUILD', value: ({ buildId }) => buildId },
            { head: 'STATE', value: ({ status }) => status },
            { head: 'SIZE', value: sizeOf },
            { head: 'DAEMON', value: ({ envdVersion }) => envdVersion },
            { head: 'STARTED', value: ({ createdAt }) => formatAge(createdAt, now) },
            { head: 'ENDED', value: ({ finishedAt }) => formatAge(finishedAt, now) },
          ],
          'No builds.',
          quiet ? ({ buildId }) => buildId : undefined,
        );
      }),
    );
}

function visibility({ public: everyone }: TemplateDetail): string {
  return everyone ? 'by every team' : 'by this team alone';
}

function sizeOf({ cpuCount, memoryMiB, diskMiB }: BuildInfo): string {
  return `${cpuCount} CPU, ${memoryMiB} MiB${diskMiB === undefined ? '' : `, ${diskMiB} MiB of disk`}`;
}

function addPublish(template: Command): void {
  leaf(template, 'publish <name>', 'let every team of the service start sandboxes from a template')
    .option(
      '--with-memory',
      'also publish the memory of programs: every team can then read it, keys included',
    )
    .action(
      act((cli, name: string, flags: { withMemory?: boolean }) =>
        setPublic(cli, name, { public: true, ...(flags.withMemory ? { publishMemory: true } : {}) }),
      ),
    );
}

function addUnpublish(template: Command): void {
  leaf(template, 'unpublish <name>', 'make a template private to this team again').action(
    act((cli, name: string) => setPublic(cli, name, { public: false })),
  );
}

async function setPublic(
  cli: Cli,
  name: string,
  change: { public: boolean; publishMemory?: boolean },
): Promise<void> {
  const client = await cli.client();
  const { names } = await client.templates.update(name, change, { signal: cli.signal });
  cli.out.result(
    { name, names, public: change.public },
    () => `${names[0] ?? name} is ${change.public ? 'public' : 'private'}.\n`,
  );
}

function addTag(template: Command): void {
  leaf(
    template,
    'tag <name> [tags...]',
    'list the tags of a template, or set tags on the build of name[:tag]',
  )
    .option('--delete', 'remove the tags; builds stay')
    .action(
      act(async (cli, name: string, tags: string[], flags: { delete?: boolean }) => {
        const { signal } = cli;
        if (flags.delete && tags.length === 0) throw new UsageError('Give the tags to remove.');
        const client = await cli.client({ destroys: flags.delete === true });
        if (flags.delete) {
          await client.templates.tags.delete(name, tags, { signal });
          cli.out.result({ name, deleted: tags }, () => `Removed ${tags.join(', ')}\n`);
        } else if (tags.length > 0) {
          const assigned = await client.templates.tags.assign(name, tags, { signal });
          cli.out.result(assigned, () => `${assigned.tags.join(', ')}  ${assigned.buildId}\n`);
        } else {
          const known = await client.templates.tags.list(name, { signal });
          const now = Date.now();
          cli.out.table(
            known,
            [
              { head: 'TAG', value: ({ tag }) => tag },
              { head: 'BUILD', value: ({ buildId }) => buildId },
              { head: 'SET', value: ({ createdAt }) => formatAge(createdAt, now) },
            ],
            'No tags.',
          );
        }
      }),
    );
}

function addAlias(template: Command): void {
  leaf(template, 'alias <name>', 'show which template a name stands for').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const found = await client.templates.aliases.get(name, { signal: cli.signal });
      cli.out.result(found, () => `${found.templateId}${found.public ? '  public' : ''}\n`);
    }),
  );
}
