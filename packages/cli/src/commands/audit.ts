import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry, AuditFilter, AuditOutcome } from '@svc/sdk/operator';
import { type Command, Option } from 'commander';
import { act } from '../cli/leaf.js';
import { UsageError } from '../errors/cli-error.js';
import type { Style } from '../output/style.js';
import { type Column, printable } from '../output/table.js';
import { wholeNumber } from '../parse/number.js';
import { parseTime } from '../parse/time.js';

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
For operators: the operator port is found as by \`svc team\`.`,
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

/** Longest time that an entry may wait for its outcome before it is shown without, ms. */
const UNFINISHED_MS = 120_000;
/** Longest time after its own that an entry may become readable, ms: servers write concurrently. */
const LATE_MS = 10_000;

interface FollowOptions {
  /** Entries that fit, oldest first. */
  read(filter: AuditFilter): AsyncIterable<AuditEntry>;
  filter: AuditFilter;
  /** Entries to begin with, oldest first. */
  latest: readonly AuditEntry[];
  /** Waits until it is time to look again; false: no more. */
  wait(): Promise<boolean>;
  /** Monotonic clock, ms. */
  now(): number;
}

/**
 * Gives each entry once it has its outcome, or has waited long for it. Looks again and again until `wait` says no more. The
 * wanted outcome is looked at here: by it the service finds nothing that is under way.
 */
export async function* followEntries(options: FollowOptions): AsyncGenerator<AuditEntry> {
  const { outcome, ...asked } = options.filter;
  /** Entries that were given, by id, and their times. */
  const given = new Map<string, number>();
  /** When entries without an outcome were first seen. */
  const pending = new Map<string, { at: number; since: number }>();
  let newestAt = 0;
  const ready = (entry: AuditEntry): boolean => {
    if (given.has(entry.entryId)) return false;
    const at = entry.at.getTime();
    newestAt = Math.max(newestAt, at);
    const known = pending.get(entry.entryId) ?? { at, since: options.now() };
    if (entry.outcome === 'unfinished' && options.now() - known.since < UNFINISHED_MS) {
      pending.set(entry.entryId, known);
      return false;
    }
    pending.delete(entry.entryId);
    given.set(entry.entryId, at);
    return outcome === undefined || entry.outcome === outcome;
  };
  for (const entry of options.latest) if (ready(entry)) yield entry;
  const begunAt = newestAt;
  while (await options.wait()) {
    const from = Math.min(
      // Entries from before the first look are not asked for.
      Math.max(newestAt - LATE_MS, begunAt),
      ...[...pending.values()].map(({ at }) => at),
    );
    for (const [id, at] of given) if (at < from) given.delete(id);
    const filter = { ...asked, ...(newestAt === 0 ? {} : { from: new Date(from) }) };
    for await (const entry of options.read(filter)) if (ready(entry)) yield entry;
  }
}

const actorOf = ({ actor: { kind, id } }: AuditEntry) => (id === undefined ? kind : `${kind} ${id}`);
const resourceOf = ({ resource }: AuditEntry) =>
  resource === undefined ? undefined : [resource.kind, resource.id].filter(Boolean).join(' ');
const outcomeOf = ({ outcome, status }: AuditEntry) =>
  status === undefined ? outcome : `${outcome} ${status}`;

/** Entries as a table. */
const entryColumns: readonly Column<AuditEntry>[] = [
  { head: 'TIME', value: ({ at }) => at.toISOString() },
  { head: 'WHO', value: actorOf },
  { head: 'WHAT', value: ({ operation }) => operation },
  { head: 'RESOURCE', value: resourceOf },
  { head: 'TEAM', value: ({ teamId }) => teamId },
  { head: 'OUTCOME', value: outcomeOf },
  { head: 'FROM', value: ({ clientAddress }) => clientAddress },
  { head: 'REQUEST', value: ({ requestId }) => requestId },
];

/** One entry on one line, for lists without an end. Pure. */
function formatEntry(entry: AuditEntry, style: Style): string {
  const mark = {
    succeeded: style.green,
    refused: style.yellow,
    failed: style.red,
    unfinished: style.dim,
  }[entry.outcome];
  return [
    style.dim(entry.at.toISOString()),
    mark(outcomeOf(entry)),
    entry.operation,
    resourceOf(entry),
    `by ${actorOf(entry)}`,
    entry.teamId === undefined ? undefined : `team ${entry.teamId}`,
    entry.clientAddress === undefined ? undefined : `from ${entry.clientAddress}`,
    entry.requestId === undefined ? undefined : `request ${entry.requestId}`,
  ]
    .filter((part) => part !== undefined)
    .map(printable)
    .join('  ');
}
