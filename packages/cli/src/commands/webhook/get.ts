import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';

export function addGet(webhook: Command): void {
  leaf(webhook, 'get <id>', 'show a webhook').action(
    act(async (cli, id: string) => {
      const client = await cli.client();
      const found = await client.webhooks.get(id, { signal: cli.signal });
      cli.out.fields(found, {
        Webhook: found.id,
        Name: found.name,
        URL: found.url,
        State: found.enabled ? 'enabled' : 'disabled',
        Events: found.events.join('\n'),
        Created: formatAge(found.createdAt, Date.now()),
      });
    }),
  );
}
