import type { VolumeEntry } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatBytes } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';
import { findVolume } from './find-volume.js';
import { listVolumes } from './list.js';

export function addLs(volume: Command): void {
  leaf(volume, 'ls [volume] [path]', 'list the files of a volume; without one, list the volumes')
    .option('--depth <levels>', 'levels below the directory', wholeNumber('--depth', 1, 10), 1)
    .action(
      act(async (cli, nameOrId: string | undefined, path: string | undefined, flags: { depth: number }) => {
        if (nameOrId === undefined) return listVolumes(cli);
        const { depth } = flags;
        const { signal } = cli;
        const found = await findVolume(cli, nameOrId);
        const entries = await found.list(path ?? '/', { depth, signal });
        const now = Date.now();
        cli.out.table(
          entries,
          [
            { head: 'MODE', value: ({ mode }) => mode.toString(8).padStart(4, '0') },
            { head: 'OWNER', value: ({ uid, gid }) => `${uid}:${gid}` },
            {
              head: 'SIZE',
              value: ({ type, sizeBytes }) => (type === 'file' ? formatBytes(sizeBytes) : undefined),
              align: 'right',
            },
            { head: 'CHANGED', value: ({ modifiedAt }) => formatAge(modifiedAt, now) },
            { head: 'PATH', value: shownPath },
          ],
          'Nothing is in it.',
        );
      }),
    );
}

function shownPath({ path, type, target }: VolumeEntry): string {
  if (type === 'directory') return `${path}/`;
  return target === undefined ? path : `${path} -> ${target}`;
}
