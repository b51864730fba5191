import type { NewTeam, TeamLimitsChange } from '@svc/sdk/operator';
import type { Command } from 'commander';
import { UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { wholeNumber } from '../../parse/number.js';

/** A limit as it is said: a number, or the server's own. Not null, which commander takes for a failure. */
type Limit = number | 'default';

/** Options of what a team may use. */
export interface TeamFlags {
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
export function addTeamFlags(command: Command): Command {
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
export function toTeamSettings(flags: TeamFlags): Omit<NewTeam, 'slug'> {
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
