import type {
  LogEntry,
  ProcessInfo,
  SandboxDetail,
  SandboxInfo,
  SandboxMetrics,
  SandboxState,
} from '@svc/sdk';
import { type Command, Option } from 'commander';
import { quote } from '#support/quote';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatAge, formatBytes, formatPairs, formatUntil } from '../../output/format.js';
import type { Style } from '../../output/style.js';
import { formatTable, printable } from '../../output/table.js';
import { wholeNumber } from '../../parse/number.js';
import { collectPairs } from '../../parse/pairs.js';
import { parseTime } from '../../parse/time.js';

interface ListFlags {
  state?: SandboxState;
  metadata?: Record<string, string>;
  template?: string;
  limit: number;
  quiet?: boolean;
}

export function addList(sandbox: Command): void {
  leaf(sandbox, 'list', 'list sandboxes, newest first')
    .alias('ls')
    .addOption(new Option('--state <state>', 'only in this state').choices(['running', 'paused']))
    .option('-m, --metadata <key=value>', 'only with this metadata; repeatable', collectPairs)
    .option('--template <template>', 'only of this template')
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 100_000), 100)
    .option('-q, --quiet', 'print only the ids')
    .action(
      act(async (cli, flags: ListFlags) => {
        const { limit, quiet, state, metadata, template } = flags;
        const client = await cli.client();
        const filter = { state, metadata, template, limit: Math.min(limit, 100), signal: cli.signal };
        const items = await client.sandboxes.list(filter).toArray({ limit });
        if (quiet && !cli.out.json)
          return cli.out.write(items.map(({ sandboxId }) => `${sandboxId}\n`).join(''));
        cli.out.result(items.map(sandboxRecord), () => formatSandboxes(items, cli.out.style, Date.now()));
        if (items.length === 0) cli.out.note('No sandboxes. `svc sandbox create` makes one.');
        else if (items.length === limit) cli.out.note(`Only the first ${limit}; more with --limit.`);
      }),
    );
}

/** Sandboxes as a table; nothing for none. Pure. */
function formatSandboxes(items: readonly SandboxInfo[], style: Style, now: number): string {
  if (items.length === 0) return '';
  return formatTable(
    items,
    [
      { head: 'SANDBOX', value: ({ sandboxId }) => sandboxId },
      {
        head: 'STATE',
        value: ({ state }) => (state === 'running' ? style.green(state) : style.yellow(state)),
      },
      { head: 'TEMPLATE', value: ({ alias, templateId }) => alias ?? templateId },
      { head: 'STARTED', value: ({ startedAt }) => formatAge(startedAt, now) },
      {
        head: 'ENDS',
        value: ({ state, endAt }) => (state === 'running' ? formatUntil(endAt, now) : undefined),
      },
      { head: 'CPU', value: ({ cpuCount }) => cpuCount, align: 'right' },
      { head: 'MEMORY', value: ({ memoryMiB }) => `${memoryMiB} MiB`, align: 'right' },
      { head: 'METADATA', value: ({ metadata }) => formatPairs(metadata) },
    ],
    style,
  );
}

export function addInfo(sandbox: Command): void {
  leaf(sandbox, 'info <id>', 'show everything about a sandbox').action(
    act(async (cli, id: string) => {
      const handle = await cli.sandbox(id);
      const info = await handle.info({ signal: cli.signal });
      const now = Date.now();
      const running = info.state === 'running';
      cli.out.fields(detailRecord(info), {
        Sandbox: info.sandboxId,
        State: running ? cli.out.style.green(info.state) : cli.out.style.yellow(info.state),
        Template: info.alias === undefined ? info.templateId : `${info.alias} (${info.templateId})`,
        Started: `${info.startedAt.toISOString()} (${formatAge(info.startedAt, now)})`,
        [running ? 'Ends' : 'Paused']:
          `${info.endAt.toISOString()} (${running ? formatUntil(info.endAt, now) : formatAge(info.endAt, now)})`,
        'At the end': info.lifecycle.onTimeout + (info.lifecycle.autoResume ? ', resumed by requests' : ''),
        Size: `${info.cpuCount} CPU, ${info.memoryMiB} MiB of memory, ${info.diskMiB} MiB of disk`,
        Isolation: info.isolation,
        Internet: info.allowInternetAccess === false ? 'no' : 'yes',
        Network: info.network === undefined ? undefined : JSON.stringify(info.network),
        Metadata: formatPairs(info.metadata),
        Volumes: formatPairs(info.volumeMounts),
        Daemon: info.envdVersion,
      });
    }),
  );
}

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
    .option('-f, --follow', 'show new output as it comes, until the sandbox is deleted')
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
          cli.out.note('The sandbox is deleted.');
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
function formatEntry({ timestamp, level, message }: LogEntry, style: Style): string {
  const mark = { debug: style.dim, info: style.cyan, warn: style.yellow, error: style.red }[level];
  return `${style.dim(timestamp.toISOString())} ${mark(level.padEnd(5))} ${printable(message.trimEnd())}`;
}

export function addMetrics(sandbox: Command): void {
  leaf(sandbox, 'metrics <id>', 'show the processor, memory and disk use of a sandbox, oldest first')
    .option('--since <time>', 'from this time on: 10m, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .option('--until <time>', 'up to this time', (text) => parseTime(text))
    .action(
      act(async (cli, id: string, flags: { since?: Date; until?: Date }) => {
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        const samples = await handle.metrics({ signal, start: flags.since, end: flags.until });
        cli.out.table(
          samples,
          [
            { head: 'TIME', value: ({ timestamp }) => timestamp.toISOString() },
            { head: 'CPU', value: ({ cpuUsedPercent }) => `${cpuUsedPercent.toFixed(1)} %`, align: 'right' },
            { head: 'CORES', value: ({ cpuCount }) => cpuCount, align: 'right' },
            { head: 'MEMORY', value: memory, align: 'right' },
            { head: 'DISK', value: disk, align: 'right' },
          ],
          'No sample yet: one is taken every 5 seconds.',
        );
      }),
    );
}

function memory({ memoryUsedBytes, memoryTotalBytes }: SandboxMetrics): string {
  return `${formatBytes(memoryUsedBytes)} of ${formatBytes(memoryTotalBytes)}`;
}

function disk({ diskUsedBytes, diskTotalBytes }: SandboxMetrics): string {
  return `${formatBytes(diskUsedBytes)} of ${formatBytes(diskTotalBytes)}`;
}

const pidNumber = wholeNumber('A pid', 1, 4_194_304);

export function addPs(sandbox: Command): void {
  leaf(sandbox, 'ps <id>', 'list the running programs that clients started in a sandbox')
    .option('-q, --quiet', 'print only the pids')
    .option('--kill <pids...>', 'kill these instead of listing')
    .action(
      act(async (cli, id: string, { quiet, kill }: { quiet?: boolean; kill?: string[] }) => {
        if (quiet && kill) throw new UsageError('Use --quiet or --kill, not both.');
        const pids = kill?.map((text) => pidNumber(text));
        const { signal } = cli;
        const handle = await cli.sandbox(id, { destroys: pids !== undefined });
        if (pids !== undefined)
          return deleteNamed(
            cli,
            'process',
            pids.map(String),
            (pid) => handle.commands.kill(Number(pid), { signal }),
            'Killed',
          );
        const now = Date.now();
        cli.out.table(
          await handle.commands.list({ signal }),
          [
            { head: 'PID', value: ({ pid }) => pid, align: 'right' },
            { head: 'STARTED', value: ({ startedAt }) => formatAge(startedAt, now) },
            { head: 'TAG', value: ({ tag }) => tag },
            { head: 'COMMAND', value: commandLine },
          ],
          'Nothing runs in it.',
          quiet ? ({ pid }) => String(pid) : undefined,
        );
      }),
    );
}

/** Returns the line of a command, or the words of another program. Pure. */
function commandLine({ command, args }: Pick<ProcessInfo, 'command' | 'args'>): string {
  const [first, second, line, ...rest] = args;
  const isLine = command === '/bin/bash' && first === '-l' && second === '-c' && rest.length === 0;
  return isLine && line !== undefined ? line : [command, ...args].map(quote).join(' ');
}

/** A sandbox as `--json` shows it; times as ISO text. */
function sandboxRecord(info: SandboxInfo): object {
  return { ...info, startedAt: info.startedAt.toISOString(), endAt: info.endAt.toISOString() };
}

/** The same with all that is known of one. */
export function detailRecord(info: SandboxDetail): object {
  return sandboxRecord(info);
}
