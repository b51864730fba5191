import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addRemove(node: Command): void {
  leaf(node, 'remove <nodes...>', 'remove nodes that have stopped and have nothing')
    .alias('rm')
    .action(
      act(async (cli, ids: string[]) => {
        const { nodes } = await cli.operator({ destroys: true });
        await deleteNamed(cli, 'node', ids, (id) => nodes.remove(id, { signal: cli.signal }));
      }),
    );
}
