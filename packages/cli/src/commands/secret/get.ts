import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatPairs } from '../../output/format.js';

export function addGet(secret: Command): void {
  leaf(secret, 'get <name>', 'show a secret, by name or id, without its value').action(
    act(async (cli, name: string) => {
      const client = await cli.client();
      const found = await client.secrets.get(name, { signal: cli.signal });
      const now = Date.now();
      cli.out.fields(found, {
        Secret: found.name,
        Id: found.secretId,
        Version: found.currentVersion,
        Created: formatAge(found.createdAt, now),
        Updated: formatAge(found.updatedAt, now),
        Metadata: formatPairs(found.metadata),
      });
    }),
  );
}
