import type { StoredServer } from '@svc/server';
import { CliError } from '../../../errors/cli-error.js';
import { formatBytes } from '../../../output/format.js';
import type { ProgramVersion } from '../status.js';
import { compareVersions } from './compare-versions.js';

/** Facts that are known before anything is changed. */
export interface UpgradeFacts {
  from: string;
  to: ProgramVersion;
  stored: Pick<StoredServer, 'database' | 'freeBytes'>;
  /** True when a server runs: else its database stays as it is until it is started. */
  runs: boolean;
}

/** The steps of an upgrade. */
export interface UpgradePlan {
  from: string;
  to: string;
  /** Steps by which the database would be brought up to date. Undefined: it is in PostgreSQL, and not looked at. */
  schema: string[] | undefined;
  /** True when the version before can have its state back. */
  canBeUndone: boolean;
  /** Sandboxes in the records; undefined with PostgreSQL. */
  sandboxes: { running: number; paused: number } | undefined;
}

/** Room for the copy of this command, that of the migration, and what the new version writes at first, bytes. */
export function roomNeeded(databaseBytes: number): number {
  return 2 * databaseBytes + 64 * 2 ** 20;
}

/** Judges an upgrade. Pure. @throws {CliError} for one that cannot be, with what to do instead */
export function planUpgrade({ from, to, stored, runs }: UpgradeFacts): UpgradePlan {
  const order = compareVersions(to.version, from);
  if (order === 0) throw refusal(`${from} is installed already.`, 'There is nothing to do.');
  if (order < 0)
    throw refusal(
      `${to.version} is older than ${from}, which is installed.`,
      'An older version does not start on what a newer one has written: docs/upgrading.md has the way back.',
    );
  const { database, freeBytes } = stored;
  const unknown = database?.migrations.filter((step) => !to.schema.includes(step)) ?? [];
  if (unknown.length > 0)
    throw refusal(
      `The database is newer than ${to.version}: it has ${unknown.join(', ')}.`,
      'Name a later version, or put back a copy of the data from before.',
    );
  const needed = database === undefined || !runs ? 0 : roomNeeded(database.sizeBytes);
  if (freeBytes < needed)
    throw refusal(
      `There is no room for copies of the database: they need ${formatBytes(needed)}, and ${formatBytes(freeBytes)} are free.`,
      'Free some in the file system of the data directory.',
    );
  const count = (state: string) => database?.sandboxes.filter((each) => each.state === state).length ?? 0;
  return {
    from,
    to: to.version,
    schema:
      database === undefined ? undefined : to.schema.filter((step) => !database.migrations.includes(step)),
    canBeUndone: database !== undefined,
    sandboxes: database === undefined ? undefined : { running: count('running'), paused: count('paused') },
  };
}

/** Sandboxes that a server has to find again at a moment: all but those whose time is over by then. Pure. */
export function expectedAt(nowMs: number, sandboxes: readonly { state: string; endAt: number }[]): number {
  return sandboxes.filter(({ state, endAt }) => state === 'paused' || (state === 'running' && endAt > nowMs))
    .length;
}

/**
 * Returns the problem of a new version that found so many; undefined when there is none. A sandbox may end by itself at any time, so one
 * that is missing says nothing; when most are missing, the new version is at fault. Pure.
 */
export function judgeFound(expected: number, found: number): string | undefined {
  return found * 2 >= expected
    ? undefined
    : `The new version found ${found} of ${expected} sandboxes that were running or paused.`;
}

function refusal(message: string, hint: string): CliError {
  return new CliError(message, { code: 'upgrade', hint });
}
