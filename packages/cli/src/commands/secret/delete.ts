import type { Command } from 'commander';
import { deleteNamed } from '../../program/delete-named.js';
import { act, leaf } from '../../program/leaf.js';

export function addDelete(secret: Command): void {
  leaf(secret, 'delete <names...>', 'delete secrets: no sandbox gets them any more')
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
