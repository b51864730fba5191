import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addDelete(snapshot: Command): void {
  leaf(snapshot, 'delete <snapshots...>', 'delete snapshots that no sandbox uses')
    .alias('rm')
    .action(
      act(async (cli, ids: string[]) => {
        const client = await cli.client({ destroys: true });
        await deleteNamed(cli, 'snapshot', ids, (id) => client.snapshots.delete(id, { signal: cli.signal }));
      }),
    );
}
