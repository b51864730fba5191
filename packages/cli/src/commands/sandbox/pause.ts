import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { withProgress } from '../../output/progress.js';

export function addPause(sandbox: Command): void {
  leaf(sandbox, 'pause <id>', 'pause a sandbox: save its state and stop it')
    .option('--no-memory', 'save its files only; no program runs after the resume')
    .action(
      act(async (cli, id: string, flags: { memory: boolean }) => {
        const client = await cli.client();
        const options = { signal: cli.signal, ...(flags.memory ? {} : { memory: false }) };
        const paused = await withProgress(cli.out, 'Pausing', () => client.sandboxes.pause(id, options));
        cli.out.result({ sandboxId: id, paused }, () =>
          paused
            ? `Paused ${id}. It goes on with: svc sandbox resume ${id}\n`
            : `${id} was paused already.\n`,
        );
      }),
    );
}
