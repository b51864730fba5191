import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { ExitWith, exitCodes, UsageError } from '../../errors/cli-error.js';

const atOnce = 8;

export function addKill(sandbox: Command): void {
  leaf(sandbox, 'kill [ids...]', 'kill sandboxes, running or paused')
    .alias('rm')
    .option('--all', 'kill every sandbox of the team')
    .action(
      act(async (cli, given: string[], flags: { all?: boolean }) => {
        if ((given.length === 0) !== (flags.all === true))
          throw new UsageError(
            'Give the ids of the sandboxes to kill, or --all.',
            '`svc sandbox list` shows their ids.',
          );
        const client = await cli.client({ destroys: true });
        const { signal } = cli;
        const ids = flags.all
          ? (await client.sandboxes.list({ signal }).toArray()).map(({ sandboxId }) => sandboxId)
          : [...new Set(given)];
        const results: { sandboxId: string; killed: boolean }[] = [];
        const waiting = [...ids];
        await Promise.all(
          Array.from({ length: Math.min(atOnce, ids.length) }, async () => {
            for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
              const killed = await client.sandboxes.kill(id, { signal });
              results.push({ sandboxId: id, killed });
              if (!cli.out.json) cli.out.line(killed ? `Killed ${id}` : `There is no sandbox ${id}`);
            }
          }),
        );
        if (cli.out.json) cli.out.line(JSON.stringify(results, null, 2));
        if (ids.length === 0) cli.out.note('No sandboxes.');
        if (results.some(({ killed }) => !killed) && !flags.all) throw new ExitWith(exitCodes.failure);
      }),
    );
}
