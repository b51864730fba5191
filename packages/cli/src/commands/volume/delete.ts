import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';

export function addDelete(volume: Command): void {
  leaf(volume, 'delete <volumes...>', 'delete volumes, by name or id, with their content').action(
    act(async (cli, names: string[]) => {
      const client = await cli.client({ destroys: true });
      const { signal } = cli;
      const volumes = await client.volumes.list({ signal });
      await deleteNamed(cli, 'volume', names, async (nameOrId) => {
        const found = volumes.find(({ name, volumeId }) => name === nameOrId || volumeId === nameOrId);
        return found === undefined ? false : client.volumes.delete(found.volumeId, { signal });
      });
    }),
  );
}
