import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addDelete(webhook: Command): void {
  leaf(webhook, 'delete <ids...>', 'delete webhooks')
    .alias('rm')
    .action(
      act(async (cli, ids: string[]) => {
        const client = await cli.client({ destroys: true });
        await deleteNamed(cli, 'webhook', ids, (id) => client.webhooks.delete(id, { signal: cli.signal }));
      }),
    );
}
