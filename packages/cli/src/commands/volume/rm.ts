import type { Command } from 'commander';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { findVolume } from './find-volume.js';

export function addRm(volume: Command): void {
  leaf(
    volume,
    'rm <volume> <paths...>',
    'remove files of a volume, and directories with their content',
  ).action(
    act(async (cli, nameOrId: string, paths: string[]) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId, { destroys: true });
      await deleteNamed(cli, 'file', paths, (path) => found.remove(path, { signal }));
    }),
  );
}
