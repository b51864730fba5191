import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';

export function addCreate(volume: Command): void {
  leaf(volume, 'create <name>', 'create an empty volume; prints its id').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const { volumeId } = await client.volumes.create(name, { signal: cli.signal });
      cli.out.result({ volumeId, name }, () => `${volumeId}\n`);
      cli.out.note(`Mount it: svc sandbox create --volume ${name}:/mnt/${name}`);
    }),
  );
}
