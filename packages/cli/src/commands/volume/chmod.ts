import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { fileMode, wholeNumber } from '../../parse/number.js';
import { findVolume } from './find-volume.js';

const id = (name: string) => wholeNumber(name, 0, 4_294_967_294);

export function addChmod(volume: Command): void {
  leaf(volume, 'chmod <volume> <path> [mode]', 'change mode and owner of a file or directory of a volume')
    .option('--uid <id>', 'its owner', id('--uid'))
    .option('--gid <id>', 'its group', id('--gid'))
    .action(
      act(
        async (
          cli,
          nameOrId: string,
          path: string,
          octal: string | undefined,
          { uid, gid }: { uid?: number; gid?: number },
        ) => {
          const mode = octal === undefined ? undefined : fileMode(octal);
          if (mode === undefined && uid === undefined && gid === undefined)
            throw new UsageError('No change is given.', 'Give a mode such as 640, --uid or --gid.');
          const { signal } = cli;
          const found = await findVolume(cli, nameOrId);
          const entry = await found.update(path, { mode, uid, gid }, { signal });
          cli.out.result(
            entry,
            () => `${entry.mode.toString(8).padStart(4, '0')} ${entry.uid}:${entry.gid} ${entry.path}\n`,
          );
        },
      ),
    );
}
