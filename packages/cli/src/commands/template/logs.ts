import type { BuildLogEntry } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { formatBuildEntry } from './build.js';

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
