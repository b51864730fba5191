import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';

export function addList(template: Command): void {
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
