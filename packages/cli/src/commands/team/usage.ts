import type { TeamUsageHour } from '@svc/sdk/operator';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatBytes, formatDuration } from '../../output/format.js';
import { parseTime } from '../../parse/time.js';

export function addUsage(team: Command): void {
  leaf(team, 'usage <team>', 'show what a team used, hour by hour')
    .option('--since <time>', 'from this time on: 7d, 2026-01-31T12:00:00Z (default: 24h)', (text) =>
      parseTime(text),
    )
    .option('--until <time>', 'before this time (default: now)', (text) => parseTime(text))
    .action(
      act(async (cli, name: string, { since, until }: { since?: Date; until?: Date }) => {
        const { teams } = await cli.operator();
        const { hours } = await teams.usage(name, { from: since, until, signal: cli.signal });
        cli.out.table(
          cli.out.json ? hours : [...hours, ...totalOf(hours)],
          [
            { head: 'HOUR', value: ({ hour }) => hour?.toISOString() ?? 'total' },
            {
              head: 'SANDBOX TIME',
              value: (row) => formatDuration(row.sandboxSeconds * 1000),
              align: 'right',
            },
            { head: 'GIB-HOURS', value: (row) => (row.memoryGiBSeconds / 3600).toFixed(2), align: 'right' },
            { head: 'EGRESS', value: ({ egressBytes }) => formatBytes(egressBytes), align: 'right' },
            { head: 'CREATES', value: ({ creates }) => creates, align: 'right' },
          ],
          'Nothing was used.',
        );
      }),
    );
}

type Row = Omit<TeamUsageHour, 'hour'> & { hour?: Date };

/** The last line of the table; none without hours. Pure. */
function totalOf(hours: readonly TeamUsageHour[]): Row[] {
  if (hours.length === 0) return [];
  const sum = (value: (row: TeamUsageHour) => number) => hours.reduce((total, row) => total + value(row), 0);
  return [
    {
      sandboxSeconds: sum((row) => row.sandboxSeconds),
      memoryGiBSeconds: sum((row) => row.memoryGiBSeconds),
      egressBytes: sum((row) => row.egressBytes),
      creates: sum((row) => row.creates),
    },
  ];
}
