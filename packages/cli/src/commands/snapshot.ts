import type { Command } from 'commander';
import { addDelete } from '../cli/delete-named.js';
import { act, leaf } from '../cli/leaf.js';
import { withProgress } from '../output/progress.js';
import { wholeNumber } from '../parse/number.js';

export function addSnapshotCommands(snapshot: Command): void {
  addCreate(snapshot);
  addList(snapshot);
  addDelete(snapshot, {
    usage: '<snapshots...>',
    summary: 'delete snapshots that no sandbox uses',
    what: 'snapshot',
    of: (client) => client.snapshots,
  });
}

function addCreate(snapshot: Command): void {
  leaf(snapshot, 'create <id>', 'save the state of a running sandbox as a snapshot; prints its id')
    .option('--name <name>', 'name or name:tag; an existing name gets a new version')
    .option('--no-memory', 'save its files only')
    .action(
      act(async (cli, id: string, { name, memory }: { name?: string; memory: boolean }) => {
        const { signal } = cli;
        const source = await cli.sandbox(id);
        const made = await withProgress(cli.out, `Taking a snapshot of ${id}`, () =>
          source.createSnapshot({ name, signal, ...(memory ? {} : { memory: false }) }),
        );
        cli.out.result(made, () => `${made.snapshotId}\n`);
        cli.out.note(`Next: svc sandbox create ${made.snapshotId}`);
      }),
    );
}

interface ListFlags {
  sandbox?: string;
  name?: string;
  limit: number;
  quiet?: boolean;
}

function addList(snapshot: Command): void {
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
