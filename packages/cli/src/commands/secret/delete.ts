import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addDelete(secret: Command): void {
  leaf(secret, 'delete <names...>', 'delete secrets; sandboxes can no longer use them')
    .alias('rm')
    .action(
      act(async (cli, names: string[]) => {
        const client = await cli.client({ destroys: true });
        await deleteNamed(cli, 'secret', names, (name) =>
          client.secrets.delete(name, { signal: cli.signal }),
        );
      }),
    );
}
