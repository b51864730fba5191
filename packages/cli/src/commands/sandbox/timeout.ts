import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatUntil } from '../../output/format.js';
import { parseDuration } from '../../parse/duration.js';
import { detailRecord } from './sandbox-record.js';

export function addTimeout(sandbox: Command): void {
  leaf(
    sandbox,
    'timeout <id> <span>',
    'set the time to live of a sandbox, counted from now; 0 ends it',
  ).action(
    act(async (cli, id: string, span: string) => {
      const timeoutMs = parseDuration(span);
      const { signal } = cli;
      const handle = await cli.sandbox(id, { destroys: timeoutMs === 0 });
      await handle.setTimeout(timeoutMs, { signal });
      // It is killed or paused now; which of the two shows when it has happened.
      if (timeoutMs === 0) return cli.out.result({ sandboxId: id, endAt: null }, () => `${id} ends now.\n`);
      const info = await handle.info({ signal });
      cli.out.result(detailRecord(info), () => `${id} ends ${formatUntil(info.endAt, Date.now())}.\n`);
    }),
  );
}
