import type { SandboxInfo, SandboxState } from '@svc/sdk';
import { type Command, Option } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { formatAge, formatPairs, formatUntil } from '../../output/format.js';
import type { Style } from '../../output/style.js';
import { formatTable } from '../../output/table.js';
import { wholeNumber } from '../../parse/number.js';
import { collectPairs } from '../../parse/pairs.js';
import { sandboxRecord } from './sandbox-record.js';

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
export function formatSandboxes(items: readonly SandboxInfo[], style: Style, now: number): string {
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
