import type { Delivery } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';

interface DeliveryFlags {
  status?: 'success' | 'failed';
  limit: number;
  quiet?: boolean;
}

export function addDeliveries(webhook: Command): void {
  leaf(webhook, 'deliveries <id>', 'list the deliveries of a webhook, newest first')
    .addOption(new Option('--status <status>', 'only with this status').choices(['success', 'failed']))
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 10_000), 25)
    .option('-q, --quiet', 'print only the ids of the events')
    .action(
      act(async (cli, id: string, { status, limit, quiet }: DeliveryFlags) => {
        const client = await cli.client();
        const query = { status, limit: Math.min(limit, 100), signal: cli.signal };
        const items = await client.webhooks.deliveries(id, query).toArray({ limit });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'EVENT ID', value: ({ eventId }) => eventId },
            { head: 'EVENT', value: ({ eventType }) => eventType.split('.').at(-1) },
            { head: 'SANDBOX', value: ({ sandboxId }) => sandboxId },
            { head: 'SENT', value: (item) => formatAge(last(item)?.timestamp, now) },
            { head: 'TRIES', value: ({ attempts }) => attempts.length, align: 'right' },
            { head: 'OUTCOME', value: (item) => outcomeOf(item) },
          ],
          'Nothing was sent yet.',
          quiet ? ({ eventId }) => eventId : undefined,
        );
      }),
    );
}

function last({ attempts }: Delivery): Delivery['attempts'][number] | undefined {
  return attempts.at(-1);
}

/** What came of the last attempt, in a few words, and whether another one will be made. */
export function outcomeOf(delivery: Delivery): string {
  const attempt = last(delivery);
  if (attempt === undefined) return 'waiting';
  const outcome = outcomeOfAttempt(attempt);
  return delivery.status === 'pending' ? `waiting, last ${outcome}` : outcome;
}

function outcomeOfAttempt(attempt: Delivery['attempts'][number]): string {
  if (attempt.status === 'success') return `delivered (${attempt.responseStatus})`;
  const reason = attempt.errorMessage ?? attempt.errorClass ?? '';
  const status = attempt.responseStatus === undefined ? '' : ` ${attempt.responseStatus}`;
  return `failed${status}${reason === '' ? '' : `: ${reason}`}`;
}
