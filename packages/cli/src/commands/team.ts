import type {
  NewTeam,
  OperatedTeam,
  OperatorClient,
  TeamLimitsChange,
  TeamUsageHour,
  TeamUse,
} from '@svc/sdk/operator';
import type { Command } from 'commander';
import type { Cli } from '../cli/cli.js';
import { act, leaf } from '../cli/leaf.js';
import { UsageError } from '../errors/cli-error.js';
import { formatAge, formatBytes, formatDuration } from '../output/format.js';
import { parseDuration } from '../parse/duration.js';
import { wholeNumber } from '../parse/number.js';
import { parseTime } from '../parse/time.js';

export function addTeamCommands(team: Command): void {
  addCreate(team);
  addList(team);
  addGet(team);
  addUpdate(team);
  addUsage(team);
  addStandingCommands(team);
  team.addHelpText(
    'after',
    "\nFor operators: these commands use the server's operator port with its operator token, found by themselves on the\nserver's machine, on others by SVC_OPERATOR_URL and SVC_OPERATOR_TOKEN. A team is named by its slug or its id.",
  );
}

function addCreate(team: Command): void {
  addTeamFlags(leaf(team, 'create <slug>', 'create a team; `svc key create --team` gives it a key')).action(
    act(async (cli, slug: string, flags: TeamFlags) => {
      const { teams } = await cli.operator();
      const made = await teams.create({ slug, ...toTeamSettings(flags) }, { signal: cli.signal });
      cli.out.result(made, () => `${made.slug}  ${made.teamId}\n`);
      cli.out.note(`Next: svc key create NAME --team ${made.slug}`);
    }),
  );
}

function addGet(team: Command): void {
  leaf(team, 'get <team>', 'show a team, its limits and what it takes of them')
    .alias('info')
    .action(
      act(async (cli, name: string) => {
        const { teams } = await cli.operator();
        const { signal } = cli;
        const [shown, { use }] = await Promise.all([
          teams.get(name, { signal }),
          teams.usage(name, { signal }),
        ]);
        showTeam(cli, shown, use);
      }),
    );
}

/** A limit as it is said: a number, or the server's own. Not null, which commander takes for a failure. */
type Limit = number | 'default';

/** Options of what a team may use. */
interface TeamFlags {
  name?: string;
  maxTimeout?: Limit;
  maxSandboxes?: Limit;
  maxBuilds?: Limit;
  maxCpus?: Limit;
  maxMemory?: Limit;
  maxTotalMemory?: Limit;
  maxStorage?: Limit;
  maxVolume?: Limit;
  maxEgress?: Limit;
  maxSecrets?: Limit;
  maxWebhooks?: Limit;
  egressProxy?: boolean;
}

const largest = 2 ** 31 - 1;

/** A reader of a limit: `default` goes back to the server's. */
const orDefault =
  (read: (text: string) => number) =>
  (text: string): Limit =>
    text === 'default' ? text : read(text);
const count = (name: string, least = 0) => orDefault(wholeNumber(name, least, largest));

function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new UsageError(`--egress-proxy must be on or off, got "${text}".`);
}

/** Adds the options to a command. Every limit takes `default`. */
function addTeamFlags(command: Command): Command {
  return command
    .option('--name <text>', 'display name')
    .option('--max-timeout <span>', 'longest run of one sandbox: 90s, 10m, 24h', orDefault(parseDuration))
    .option('--max-sandboxes <count>', 'running sandboxes at once', count('--max-sandboxes'))
    .option('--max-builds <count>', 'builds at once', count('--max-builds'))
    .option('--max-cpus <count>', 'cores of a template', count('--max-cpus', 1))
    .option('--max-memory <MiB>', 'memory of a template, MiB', count('--max-memory', 1))
    .option('--max-total-memory <MiB>', 'memory of all running sandboxes, MiB', count('--max-total-memory'))
    .option('--max-storage <MiB>', 'disk of all it stores, MiB', count('--max-storage'))
    .option('--max-volume <MiB>', 'size of one volume, MiB', count('--max-volume', 1))
    .option('--max-egress <MiB>', 'what sandboxes send in a month, MiB', count('--max-egress'))
    .option('--max-secrets <count>', 'secrets', count('--max-secrets'))
    .option('--max-webhooks <count>', 'webhooks', count('--max-webhooks'))
    .option('--egress-proxy <on|off>', 'whether sandboxes may use network.egressProxy', onOrOff);
}

/** The SDK's settings. What was not said stays away. Pure. */
function toTeamSettings(flags: TeamFlags): Omit<NewTeam, 'slug'> {
  const limits: TeamLimitsChange = Object.fromEntries(
    Object.entries({
      maxTimeoutMs: flags.maxTimeout,
      maxConcurrentSandboxes: flags.maxSandboxes,
      maxConcurrentBuilds: flags.maxBuilds,
      maxCpuCount: flags.maxCpus,
      maxMemoryMiB: flags.maxMemory,
      maxTotalMemoryMiB: flags.maxTotalMemory,
      maxStorageMiB: flags.maxStorage,
      maxVolumeMiB: flags.maxVolume,
      maxEgressMonthMiB: flags.maxEgress,
      maxSecrets: flags.maxSecrets,
      maxWebhooks: flags.maxWebhooks,
    })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value === 'default' ? null : value]),
  );
  return {
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(flags.egressProxy === undefined ? {} : { features: { egressProxy: flags.egressProxy } }),
  };
}

function addList(team: Command): void {
  leaf(team, 'list', 'list the teams of the server')
    .alias('ls')
    .action(
      act(async (cli) => {
        const { teams } = await cli.operator();
        const items = await teams.list({ signal: cli.signal }).toArray();
        const now = Date.now();
        cli.out.table(
          items,
          [
            { head: 'SLUG', value: ({ slug }) => slug },
            { head: 'NAME', value: ({ name }) => name },
            { head: 'ID', value: ({ teamId }) => teamId },
            { head: 'CREATED', value: ({ createdAt }) => formatAge(createdAt, now) },
            { head: 'STANDING', value: standingOf },
          ],
          'No teams.',
        );
      }),
    );
}

/** Returns the standing of a team, in a word. Pure. */
function standingOf({ banned, blocked, blockedReason }: OperatedTeam): string {
  if (banned) return 'banned';
  if (!blocked) return 'active';
  return blockedReason === undefined ? 'blocked' : `blocked: ${blockedReason}`;
}

/** Prints one team, with what it takes where that is known. A limit that is its own is marked. */
function showTeam(cli: Cli, team: OperatedTeam, use?: TeamUse): void {
  const { limits } = team;
  const mark = (name: keyof typeof limits, text: string | number) =>
    team.ownLimits.includes(name) ? `${text} (own)` : `${text}`;
  const taken = (amount: number | undefined, limit: string | number) =>
    amount === undefined ? limit : `${amount} of ${limit}`;
  cli.out.fields(use === undefined ? team : { ...team, use }, {
    Slug: team.slug,
    Name: team.name,
    Id: team.teamId,
    Standing: standingOf(team),
    'Longest run': mark('maxTimeoutMs', formatDuration(limits.maxTimeoutMs)),
    Sandboxes: mark('maxConcurrentSandboxes', taken(use?.sandboxes, limits.maxConcurrentSandboxes)),
    Builds: mark('maxConcurrentBuilds', limits.maxConcurrentBuilds),
    Cores: mark('maxCpuCount', limits.maxCpuCount),
    Memory: mark('maxMemoryMiB', `${limits.maxMemoryMiB} MiB each`),
    'Memory in all': mark('maxTotalMemoryMiB', ofLimit(limits.maxTotalMemoryMiB, use?.memoryMiB)),
    Storage:
      limits.maxStorageMiB === undefined
        ? undefined
        : mark('maxStorageMiB', `${taken(use?.storageMiB, limits.maxStorageMiB)} MiB`),
    Volumes:
      limits.maxVolumeMiB === undefined ? undefined : mark('maxVolumeMiB', `${limits.maxVolumeMiB} MiB each`),
    'Egress this month': mark('maxEgressMonthMiB', ofLimit(limits.maxEgressMonthMiB, use?.egressMonthMiB)),
    Secrets: mark('maxSecrets', taken(use?.secrets, limits.maxSecrets)),
    Webhooks: mark('maxWebhooks', taken(use?.webhooks, limits.maxWebhooks)),
    'Egress proxy': team.features.egressProxy ? 'on' : 'off',
  });
}

function ofLimit(limitMiB: number | undefined, usedMiB: number | undefined): string {
  const limit = limitMiB === undefined ? 'no limit' : `${limitMiB} MiB`;
  if (usedMiB === undefined) return limit;
  return limitMiB === undefined ? `${usedMiB} MiB, ${limit}` : `${usedMiB} of ${limit}`;
}

/** `ban`, `unban`, `block`, `unblock`. */
function addStandingCommands(team: Command): void {
  leaf(team, 'ban <team>', 'refuse every request of a team; its sandboxes keep running').action(
    act((cli, name: string) =>
      change(cli, { destroys: true }, ({ teams }, options) => teams.ban(name, options)),
    ),
  );
  leaf(team, 'unban <team>', 'end a ban').action(
    act((cli, name: string) => change(cli, {}, ({ teams }, options) => teams.unban(name, options))),
  );
  leaf(team, 'block <team>', 'let a team only read and delete; its sandboxes keep running')
    .option('--reason <text>', 'reason that the team is shown')
    .action(
      act((cli, name: string, { reason }: { reason?: string }) =>
        change(cli, { destroys: true }, ({ teams }, options) => teams.block(name, { ...options, reason })),
      ),
    );
  leaf(team, 'unblock <team>', 'end a block').action(
    act((cli, name: string) => change(cli, {}, ({ teams }, options) => teams.unblock(name, options))),
  );
}

async function change(
  cli: Cli,
  use: { destroys?: boolean },
  send: (operator: OperatorClient, options: { signal: AbortSignal }) => Promise<OperatedTeam>,
): Promise<void> {
  const changed = await send(await cli.operator(use), { signal: cli.signal });
  cli.out.result(changed, () => `${changed.slug} is ${standingOf(changed)}\n`);
}

function addUpdate(team: Command): void {
  const command = leaf(
    team,
    'update <team>',
    "change what a team may use; `default` goes back to the server's",
  );
  addTeamFlags(command).action(
    act(async (cli, name: string, flags: TeamFlags) => {
      const change = toTeamSettings(flags);
      if (Object.keys(change).length === 0)
        throw new UsageError('No change is given.', '`svc team update --help` lists the options.');
      const { teams } = await cli.operator();
      showTeam(cli, await teams.update(name, change, { signal: cli.signal }));
    }),
  );
}

function addUsage(team: Command): void {
  leaf(team, 'usage <team>', 'show what a team used, hour by hour')
    .option('--since <time>', 'from this time on: 7d, 2026-01-31T12:00:00Z (default: 24h)', (text) =>
      parseTime(text),
    )
    .option('--until <time>', 'before this time (default: now)', (text) => parseTime(text))
    .action(
      act(async (cli, name: string, { since, until }: { since?: Date; until?: Date }) => {
        const { teams } = await cli.operator();
        const { hours } = await teams.usage(name, { from: since, until, signal: cli.signal });
        cli.out.table(
          cli.out.json ? hours : [...hours, ...totalOf(hours)],
          [
            { head: 'HOUR', value: ({ hour }) => hour?.toISOString() ?? 'total' },
            {
              head: 'SANDBOX TIME',
              value: (row) => formatDuration(row.sandboxSeconds * 1000),
              align: 'right',
            },
            { head: 'GIB-HOURS', value: (row) => (row.memoryGiBSeconds / 3600).toFixed(2), align: 'right' },
            { head: 'EGRESS', value: ({ egressBytes }) => formatBytes(egressBytes), align: 'right' },
            { head: 'CREATES', value: ({ creates }) => creates, align: 'right' },
          ],
          'Nothing was used.',
        );
      }),
    );
}

type Row = Omit<TeamUsageHour, 'hour'> & { hour?: Date };

/** The last line of the table; none without hours. Pure. */
function totalOf(hours: readonly TeamUsageHour[]): Row[] {
  if (hours.length === 0) return [];
  const sum = (value: (row: TeamUsageHour) => number) => hours.reduce((total, row) => total + value(row), 0);
  return [
    {
      sandboxSeconds: sum((row) => row.sandboxSeconds),
      memoryGiBSeconds: sum((row) => row.memoryGiBSeconds),
      egressBytes: sum((row) => row.egressBytes),
      creates: sum((row) => row.creates),
    },
  ];
}
