import type { Command } from 'commander';
import { act, leaf } from '../../program/leaf.js';

export function addList(volume: Command): void {
  leaf(volume, 'list', 'list volumes').action(
    act(async (cli) => {
      const client = await cli.client();
      const volumes = await client.volumes.list({ signal: cli.signal });
      cli.out.table(
        volumes.map(({ volumeId, name }) => ({ volumeId, name })),
        [
          { head: 'NAME', value: ({ name }) => name },
          { head: 'ID', value: ({ volumeId }) => volumeId },
        ],
        'No volumes. `svc volume create NAME` makes one.',
      );
    }),
  );
}
