import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatPairs } from '../../output/format.js';

export function addList(secret: Command): void {
  leaf(secret, 'list', 'list secrets, without their values')
    .alias('ls')
    .option('-q, --quiet', 'print only the names')
    .action(
      act(async (cli, { quiet }: { quiet?: boolean }) => {
        const client = await cli.client();
        const items = await client.secrets.list({ signal: cli.signal }).toArray();
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ secretId }) => secretId },
            { head: 'VERSION', value: ({ currentVersion }) => currentVersion, align: 'right' },
            { head: 'UPDATED', value: ({ updatedAt }) => formatAge(updatedAt, now) },
            { head: 'METADATA', value: ({ metadata }) => formatPairs(metadata) },
          ],
          'No secrets. `svc secret create NAME` keeps one.',
          quiet ? ({ name }) => name : undefined,
        );
      }),
    );
}
