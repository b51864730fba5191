import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { fileMode } from '../../parse/number.js';
import { findVolume } from './find-volume.js';

export function addMkdir(volume: Command): void {
  leaf(volume, 'mkdir <volume> <path>', 'create a directory in a volume')
    .option('-p, --parents', 'also create missing parents; no error when it exists')
    .option('--mode <octal>', 'mode of the directory, such as 750', fileMode)
    .action(
      act(async (cli, nameOrId: string, path: string, flags: { parents?: boolean; mode?: number }) => {
        const { signal } = cli;
        const found = await findVolume(cli, nameOrId);
        const { mode, parents: force } = flags;
        const entry = await found.makeDir(path, { mode, force, signal });
        cli.out.result(entry, () => `Made ${entry.path}/\n`);
      }),
    );
}
