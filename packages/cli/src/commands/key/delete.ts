import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { keysOf, teamHelp } from './keys-of.js';

export function addDelete(key: Command): void {
  leaf(key, 'delete <ids...>', 'delete API keys: they stop working at once')
    .alias('rm')
    .option('--team <team>', teamHelp)
    .action(
      act(async (cli, ids: string[], { team }: { team?: string }) => {
        const keys = await keysOf(cli, team, { destroys: true });
        await deleteNamed(cli, 'key', ids, (id) => keys.delete(id, { signal: cli.signal }));
      }),
    );
}
