import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';

export function addList(volume: Command): void {
  leaf(volume, 'list', 'list volumes')
    .option('-q, --quiet', 'print only the names')
    .action(act((cli, { quiet }: { quiet?: boolean }) => listVolumes(cli, quiet)));
}

/** Shows the volumes that there are. */
export async function listVolumes(cli: Cli, quiet?: boolean): Promise<void> {
  const client = await cli.client();
  const volumes = await client.volumes.list({ signal: cli.signal });
  cli.out.table(
    volumes.map(({ volumeId, name }) => ({ volumeId, name })),
    [
      { head: 'NAME', value: ({ name }) => name },
      { head: 'ID', value: ({ volumeId }) => volumeId },
    ],
    'No volumes. `svc volume create NAME` makes one.',
    quiet ? ({ name }) => name : undefined,
  );
}
