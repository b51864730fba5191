import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry, AuditFilter, AuditOutcome } from '@svc/sdk/operator';
import { type Command, Option } from 'commander';
import { act } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { wholeNumber } from '../../parse/number.js';
import { parseTime } from '../../parse/time.js';
import { followEntries } from './follow-entries.js';
import { entryColumns, formatEntry } from './show-entry.js';

/** Between two looks for new entries, ms. */
const LOOK_MS = 1_000;
/** Most entries that the service gives at once. */
const PAGE = 1_000;

interface AuditFlags {
  team?: string;
  actor?: string;
  operation?: string;
  resource?: string;
  outcome?: AuditOutcome;
  since?: Date;
  until?: Date;
  limit: number;
  all?: boolean;
  follow?: boolean;
}

export function addAuditCommand(audit: Command): void {
  audit
    .option('--team <team>', 'only of this team: slug or id')
    .option(
      '--actor <who>',
      'only of: key, operator, system, dashboard, the id of a key, or a reason such as timeout',
    )
    .option('--operation <id>', 'only this operation, such as killSandbox')
    .option('--resource <id>', 'only what was done to this: the id of a sandbox, a volume, ...')
    .addOption(
      new Option('--outcome <outcome>', 'only what ended so').choices([
        'succeeded',
        'refused',
        'failed',
        'unfinished',
      ]),
    )
    .option('--since <time>', 'from this time on: 10m, 2026-01-31T12:00:00Z', (text) => parseTime(text))
    .option('--until <time>', 'before this time', (text) => parseTime(text))
    .option('-n, --limit <count>', 'at most this many', wholeNumber('--limit', 1, 100_000), 50)
    .option('--all', 'everything that fits, oldest first, one a line')
    .option('-f, --follow', 'then show what is done, one a line, until Ctrl+C')
    .addHelpText(
      'after',
      `
Newest first; --all and --follow go forward in time. With --json every entry is one line of JSON.
  svc audit --team research --outcome refused
  svc audit --resource ID                        everything that was done to a sandbox
  svc audit --all --since 30d --json > audit.jsonl
For who runs the server: the operator port is found as by \`svc team\`.`,
    )
    .action(
      act(async (cli, flags: AuditFlags) => {
        const { team, actor, operation, resource: resourceId, outcome, limit } = flags;
        if (flags.follow && (flags.all || flags.until !== undefined))
          throw new UsageError('--follow does not go with --all or --until.');
        const filter: AuditFilter = {
          ...{ team, actor, operation, resourceId, outcome },
          from: flags.since,
          until: flags.until,
        };
        const { audit: trail } = await cli.operator();
        const { signal } = cli;
        const show = (entry: AuditEntry) =>
          cli.out.record({ ...entry, at: entry.at.toISOString() }, () => formatEntry(entry, cli.out.style));
        const forward = (wanted: AuditFilter) => trail.list({ ...wanted, order: 'asc', limit: PAGE, signal });
        if (flags.all) {
          for await (const entry of forward(filter)) show(entry);
          return;
        }
        const latest = await trail
          .list({ ...filter, limit: Math.min(limit, PAGE), signal })
          .toArray({ limit });
        if (!flags.follow) {
          if (cli.out.json) latest.forEach(show);
          else cli.out.table(latest, entryColumns, 'No entries.');
          return;
        }
        const wait = () =>
          sleep(LOOK_MS, true, { signal }).catch((error: unknown) => {
            if (signal.aborted) return false;
            throw error;
          });
        const entries = followEntries({
          ...{ read: forward, filter, latest: latest.reverse(), wait },
          now: () => performance.now(),
        });
        try {
          for await (const entry of entries) show(entry);
        } catch (error) {
          // Ctrl+C is how it ends.
          if (!signal.aborted) throw error;
        }
      }),
    );
}
