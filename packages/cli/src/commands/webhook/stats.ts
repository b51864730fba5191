import type { DeliveryCounts } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { parseTime } from '../../parse/time.js';

type Row = DeliveryCounts & { readonly start: Date; readonly end: Date };

export function addStats(webhook: Command): void {
  leaf(webhook, 'stats <id>', 'count the deliveries of a webhook over time')
    .option('--since <time>', 'from this time on: 24h, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .option('--until <time>', 'up to this time', (text) => parseTime(text))
    .action(
      act(async (cli, id: string, flags: { since?: Date; until?: Date }) => {
        const client = await cli.client();
        const { since: start, until: end } = flags;
        const stats = await client.webhooks.stats(id, { start, end, signal: cli.signal });
        if (cli.out.json) return cli.out.line(JSON.stringify(stats, null, 2));
        const rows: Row[] = [
          ...stats.buckets.filter(({ deliveries, attempts }) => deliveries + attempts > 0),
          { ...stats.totals, start: stats.start, end: stats.end },
        ];
        cli.out.table(
          rows,
          [
            { head: 'FROM', value: (row) => row.start.toISOString() },
            { head: 'TO', value: (row) => row.end.toISOString() },
            { head: 'EVENTS', value: ({ deliveries }) => deliveries, align: 'right' },
            { head: 'DELIVERED', value: ({ succeeded }) => succeeded, align: 'right' },
            { head: 'FAILED', value: ({ failed }) => failed, align: 'right' },
            { head: 'REQUESTS', value: ({ attempts }) => attempts, align: 'right' },
          ],
          '',
        );
        cli.out.note('The last line is the total.');
      }),
    );
}
