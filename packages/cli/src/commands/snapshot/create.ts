import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { withProgress } from '../../output/progress.js';

export function addCreate(snapshot: Command): void {
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
