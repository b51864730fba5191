import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addDelete(template: Command): void {
  leaf(template, 'delete <names...>', 'delete templates, by name or id, with their builds')
    .alias('rm')
    .action(
      act(async (cli, names: string[]) => {
        const client = await cli.client({ destroys: true });
        await deleteNamed(cli, 'template', names, (name) =>
          client.templates.delete(name, { signal: cli.signal }),
        );
      }),
    );
}
