import type { Command } from 'commander';
import { formatUntil } from '../../output/format.js';
import { parseDuration } from '../../parse/duration.js';
import { act, leaf } from '../../program/leaf.js';
import { detailRecord } from './sandbox-record.js';

export function addTimeout(sandbox: Command): void {
  leaf(sandbox, 'timeout <id> <span>', 'set the time to live of a sandbox, counted from now').action(
    act(async (cli, id: string, span: string) => {
      const timeoutMs = parseDuration(span);
      const client = await cli.client();
      const { signal } = cli;
      const handle = await client.sandboxes.get(id, { signal });
      await handle.setTimeout(timeoutMs, { signal });
      const info = await handle.info({ signal });
      cli.out.result(detailRecord(info), () => `${id} ends ${formatUntil(info.endAt, Date.now())}.\n`);
    }),
  );
}
