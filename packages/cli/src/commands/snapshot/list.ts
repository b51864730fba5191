import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { wholeNumber } from '../../parse/number.js';

interface ListFlags {
  sandbox?: string;
  name?: string;
  limit: number;
  quiet?: boolean;
}

export function addList(snapshot: Command): void {
  leaf(snapshot, 'list', 'list snapshots, newest first')
    .alias('ls')
    .option('--sandbox <id>', 'only of this sandbox')
    .option('--name <name>', 'only of this name')
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 100_000), 100)
    .option('-q, --quiet', 'print only the ids')
    .action(
      act(async (cli, { sandbox: sandboxId, name, limit, quiet }: ListFlags) => {
        const client = await cli.client();
        const query = { sandboxId, name, limit: Math.min(limit, 100), signal: cli.signal };
        const items = await client.snapshots.list(query).toArray({ limit });
        cli.out.table(
          items,
          [
            { head: 'SNAPSHOT', value: ({ snapshotId }) => snapshotId },
            { head: 'NAMES', value: ({ names }) => names.join(', ') },
          ],
          'No snapshots. `svc snapshot create ID` takes one.',
          quiet ? ({ snapshotId }) => snapshotId : undefined,
        );
      }),
    );
}
