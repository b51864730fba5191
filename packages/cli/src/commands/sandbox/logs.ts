import type { LogEntry } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import type { Style } from '../../output/style.js';
import { printable } from '../../output/table.js';
import { wholeNumber } from '../../parse/number.js';
import { parseTime } from '../../parse/time.js';

interface LogFlags {
  follow?: boolean;
  tail: number;
  since?: Date;
  level?: LogEntry['level'];
  search?: string;
  raw?: boolean;
}

export function addLogs(sandbox: Command): void {
  leaf(
    sandbox,
    'logs <id>',
    'show the output of the programs of a sandbox, oldest first; also after it was killed',
  )
    .option('-f, --follow', 'show new output as it comes, until the sandbox is gone')
    .option('-n, --tail <count>', 'only the last entries, up to 1000', wholeNumber('--tail', 0, 1000), 100)
    .option('--since <time>', 'from this time on: 10m, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .addOption(
      new Option('--level <level>', 'lowest level to show').choices(['debug', 'info', 'warn', 'error']),
    )
    .option('--search <text>', 'only entries with this text')
    .option('--raw', 'print messages only')
    .action(
      act(async (cli, id: string, flags: LogFlags) => {
        const { follow, tail, since, level, search, raw } = flags;
        const client = await cli.client();
        const { signal } = cli;
        const show = (entry: LogEntry) =>
          cli.out.record({ ...entry, timestamp: entry.timestamp.toISOString() }, () =>
            raw ? printable(entry.message) : formatEntry(entry, cli.out.style),
          );
        const filter = { level, search, signal };
        if (follow) {
          // A sandbox that was killed has a log still; without one, an id may be a slip of the keyboard.
          const any = await client.sandboxes.logs(id, { signal, direction: 'backward', limit: 1 });
          if (any.length === 0) await client.sandboxes.get(id, { signal });
          for await (const entry of client.sandboxes.followLogs(id, { ...filter, tail, from: since }))
            show(entry);
          cli.out.note('The sandbox is gone.');
          return;
        }
        // Read backwards, so that the last ones are had however long the log is.
        const latest = (await client.sandboxes.logs(id, { ...filter, direction: 'backward', limit: tail }))
          .filter(({ timestamp }) => since === undefined || timestamp >= since)
          .reverse();
        if (latest.length === 0) await client.sandboxes.get(id, { signal });
        latest.forEach(show);
        if (latest.length === 0) cli.out.note('The log is empty.');
      }),
    );
}

/** One entry on one line. Pure. */
export function formatEntry({ timestamp, level, message }: LogEntry, style: Style): string {
  const mark = { debug: style.dim, info: style.cyan, warn: style.yellow, error: style.red }[level];
  return `${style.dim(timestamp.toISOString())} ${mark(level.padEnd(5))} ${printable(message.trimEnd())}`;
}
