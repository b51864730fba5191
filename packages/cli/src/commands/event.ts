import type { LifecycleEventType } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../cli/leaf.js';
import { wholeNumber } from '../parse/number.js';
import { collectEvents } from './webhook/index.js';
import { formatEvent } from './webhook/receive-events.js';

interface EventFlags {
  sandbox?: string;
  type?: LifecycleEventType[];
  order?: 'asc' | 'desc';
  limit: number;
}

export function addEventCommands(event: Command): void {
  leaf(event, 'list', 'list events about sandboxes, newest first')
    .alias('ls')
    .option('--sandbox <id>', 'only of this sandbox, even if it is deleted')
    .option('--type <names>', 'created, killed, paused, ...; repeatable', collectEvents)
    .addOption(new Option('--order <order>', 'order by time').choices(['asc', 'desc']))
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 100_000), 25)
    .action(
      act(async (cli, { sandbox: sandboxId, type: types, order, limit }: EventFlags) => {
        const client = await cli.client();
        const query = { sandboxId, types, order, limit: Math.min(limit, 100), signal: cli.signal };
        const items = await client.events.list(query).toArray({ limit });
        cli.out.result(items, () => items.map((item) => `${formatEvent(item, cli.out.style)}\n`).join(''));
        if (items.length === 0) cli.out.note('No events.');
      }),
    );
}
