import type { BuildInfo, TemplateDetail } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';

export function addInfo(template: Command): void {
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

export function addBuilds(template: Command): void {
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
