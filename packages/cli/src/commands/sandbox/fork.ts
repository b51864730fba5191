import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { ExitWith, exitCodes } from '../../errors/cli-error.js';
import { describeError } from '../../errors/describe-error.js';
import { formatUntil } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';
import { wholeNumber } from '../../parse/number.js';

export function addFork(sandbox: Command): void {
  leaf(sandbox, 'fork <id>', 'copy a running sandbox, memory included; prints the ids of the copies')
    .option('-n, --count <count>', 'number of copies, 1 to 100', wholeNumber('--count', 1, 100), 1)
    .option('-t, --timeout <span>', "time to live of each copy (default: the service's, 15s)", parseDuration)
    .action(
      act(async (cli, id: string, { count, timeout }: { count: number; timeout?: number }) => {
        const { signal } = cli;
        const source = await cli.sandbox(id);
        const forks = await withProgress(cli.out, `Forking ${count === 1 ? 'once' : `${count} times`}`, () =>
          source.fork({ count, timeoutMs: timeout, signal }),
        );
        const records = forks.map((fork) =>
          fork.ok
            ? { ok: true, sandboxId: fork.sandbox.id }
            : { ok: false, error: describeError(fork.error) },
        );
        if (cli.out.json) cli.out.line(JSON.stringify(records, null, 2));
        for (const fork of forks) {
          if (fork.ok && !cli.out.json) cli.out.line(fork.sandbox.id);
          if (!fork.ok) cli.out.note(`${cli.out.errorStyle.red('failed:')} ${fork.error.message}`);
        }
        const made = forks.find(({ ok }) => ok);
        if (timeout === undefined && made?.ok) {
          const { endAt } = await made.sandbox.info({ signal });
          cli.out.note(`Ends ${formatUntil(endAt, Date.now())}; extend it with: svc sandbox timeout ID 10m`);
        }
        if (forks.some(({ ok }) => !ok)) throw new ExitWith(exitCodes.failure);
      }),
    );
}
