import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';
import { allEvents } from './event-types.js';

export function addList(webhook: Command): void {
  leaf(webhook, 'list', 'list webhooks')
    .alias('ls')
    .option('-q, --quiet', 'print only the ids')
    .action(
      act(async (cli, { quiet }: { quiet?: boolean }) => {
        const client = await cli.client();
        const items = await client.webhooks.list({ signal: cli.signal });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'ID', value: ({ id }) => id },
            { head: 'NAME', value: ({ name }) => name },
            { head: 'STATE', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
            { head: 'URL', value: ({ url }) => url },
            {
              head: 'EVENTS',
              value: ({ events }) =>
                events.length === allEvents.length
                  ? 'all'
                  : events.map((event) => event.split('.').at(-1)).join(','),
            },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
          ],
          'No webhooks. `svc webhook create URL` makes one, `svc webhook listen` tries it here.',
          quiet ? ({ id }) => id : undefined,
        );
      }),
    );
}
