import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatUntil } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';
import { detailRecord } from './sandbox-record.js';

export function addResume(sandbox: Command): void {
  leaf(sandbox, 'resume <id>', 'resume a paused sandbox')
    .option('-t, --timeout <span>', 'time to live from now (default 5m)', parseDuration)
    .option('--no-memory', 'boot it again from its files, without its memory')
    .action(
      act(async (cli, id: string, flags: { timeout?: number; memory: boolean }) => {
        const client = await cli.client();
        const { signal } = cli;
        const options = { signal, timeoutMs: flags.timeout, ...(flags.memory ? {} : { memory: false }) };
        const handle = await withProgress(cli.out, 'Resuming', () => client.sandboxes.connect(id, options));
        const info = await handle.info({ signal });
        cli.out.result(
          detailRecord(info),
          () => `${id} runs; it ends ${formatUntil(info.endAt, Date.now())}.\n`,
        );
      }),
    );
}
