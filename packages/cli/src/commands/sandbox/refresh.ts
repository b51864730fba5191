import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatUntil } from '../../output/format.js';
import { parseDuration } from '../../parse/duration.js';
import { detailRecord } from './sandbox-record.js';

export function addRefresh(sandbox: Command): void {
  leaf(
    sandbox,
    'refresh <id> [span]',
    'extend the time to live of a sandbox to at least this long from now; never shortens it',
  ).action(
    act(async (cli, id: string, span: string | undefined) => {
      const durationMs = span === undefined ? undefined : parseDuration(span);
      const { signal } = cli;
      const handle = await cli.sandbox(id);
      await handle.refresh(durationMs, { signal });
      const info = await handle.info({ signal });
      cli.out.result(detailRecord(info), () => `${id} ends ${formatUntil(info.endAt, Date.now())}.\n`);
    }),
  );
}
