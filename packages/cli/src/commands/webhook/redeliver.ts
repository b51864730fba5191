import type { Delivery } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { wholeNumber } from '../../parse/number.js';

interface RedeliverFlags {
  failed?: boolean;
  limit: number;
}

export function addRedeliver(webhook: Command): void {
  leaf(webhook, 'redeliver <id> [events...]', 'deliver events to a webhook again')
    .option('--failed', 'deliver those again that failed, oldest first')
    .option('-n, --limit <count>', 'with --failed, at most this many', wholeNumber('--limit', 1, 10_000), 100)
    .action(
      act(async (cli, id: string, given: string[], { failed, limit }: RedeliverFlags) => {
        if ((given.length === 0) !== (failed === true))
          throw new UsageError(
            'Give the ids of the events to deliver again, or --failed.',
            `\`svc webhook deliveries ${id}\` shows their ids.`,
          );
        const { webhooks } = await cli.client();
        const { signal } = cli;
        const query = { status: 'failed', order: 'asc', limit: Math.min(limit, 100), signal } as const;
        const events = failed
          ? (await webhooks.deliveries(id, query).toArray({ limit })).map(({ eventId }) => eventId)
          : [...new Set(given)];
        const results: Delivery[] = [];
        // One after another, so that they go out in their order. The client waits where the service says that it is too fast.
        for (const eventId of events) {
          results.push(await webhooks.redeliver(id, eventId, { signal }));
          if (!cli.out.json) cli.out.line(`Delivering ${eventId} again`);
        }
        if (cli.out.json) cli.out.line(JSON.stringify(results, null, 2));
        else if (events.length === 0) cli.out.note('No delivery has failed.');
        else cli.out.note(`\`svc webhook deliveries ${id}\` shows what becomes of them.`);
      }),
    );
}
