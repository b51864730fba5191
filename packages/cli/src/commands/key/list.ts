import type { ApiKey } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatUntil } from '../../output/format.js';
import { keysOf, teamHelp } from './keys-of.js';

export function addList(key: Command): void {
  leaf(key, 'list', 'list API keys, masked')
    .alias('ls')
    .option('--team <team>', teamHelp)
    .action(
      act(async (cli, { team }: { team?: string }) => {
        const keys = await keysOf(cli, team);
        const items = await keys.list({ signal: cli.signal });
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ apiKeyId }) => apiKeyId },
            { head: 'KEY', value: ({ masked }) => masked },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
            { head: 'LAST USED', value: ({ lastUsedAt }) => formatAge(lastUsedAt, now) ?? 'never' },
            { head: 'EXPIRES', value: (item) => expiryOf(item, now) },
          ],
          'No keys. `svc key create NAME` makes one.',
        );
      }),
    );
}

/** Whether and when a key stops working, in words. Pure. */
function expiryOf({ expiresAt, successorId }: ApiKey, now: number): string {
  if (expiresAt === undefined) return 'never';
  const when = expiresAt.getTime() <= now ? 'expired' : formatUntil(expiresAt, now);
  return successorId === undefined ? `${when}` : `${when}, rotated`;
}
