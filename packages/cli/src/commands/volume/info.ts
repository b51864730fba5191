import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge } from '../../output/format.js';
import { findVolume } from './find-volume.js';

export function addInfo(volume: Command): void {
  leaf(volume, 'info <volume>', 'show a volume, by name or id').action(
    act(async (cli, nameOrId: string) => {
      const { signal } = cli;
      const found = await findVolume(cli, nameOrId);
      const root = await found.stat('/', { signal });
      const { volumeId, name } = found;
      cli.out.fields(
        { volumeId, name, root },
        { Volume: name, Id: volumeId, Changed: formatAge(root.modifiedAt, Date.now()) },
      );
    }),
  );
}
