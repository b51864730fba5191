import { isStoreEntry, type StoreEntry } from '@svc/runtime/linux';
import { migrations } from '../../storage/migrations/index.js';
import { BackupError } from './backup-error.js';

/** Changes when an older version could not read what a newer one wrote. */
const FORMAT = 1;

export const DESCRIPTION = 'backup.json';

/** First member of a backup: what it is. */
export interface BackupDescription {
  format: number;
  /** The version of the program that made it. */
  version: string;
  createdAt: string;
  /** `postgresql`: it is not part of the backup. */
  database: 'sqlite' | 'postgresql';
  /** Steps of the schema that the database has. */
  migrations: string[];
  /** True when `server.key` is part of it, without which secrets and tokens cannot be read. */
  hasKey: boolean;
  /** Objects that records name and the store did not have: paused sandboxes or templates that were lost before. */
  missing: string[];
}

export function describeBackup(facts: Omit<BackupDescription, 'format'>): BackupDescription {
  return { format: FORMAT, ...facts };
}

/** @throws {BackupError} for what this version cannot restore */
export function parseDescription(text: string): BackupDescription {
  let found: Partial<BackupDescription>;
  try {
    found = JSON.parse(text) as Partial<BackupDescription>;
  } catch {
    throw unreadable();
  }
  if (typeof found !== 'object' || found === null || typeof found.format !== 'number') throw unreadable();
  const { format, version, createdAt, database, hasKey } = found;
  if (format > FORMAT) throw tooNew(`its format is ${format}, and this version knows ${FORMAT}`);
  const steps = found.migrations;
  if (
    typeof version !== 'string' ||
    typeof createdAt !== 'string' ||
    typeof hasKey !== 'boolean' ||
    (database !== 'sqlite' && database !== 'postgresql') ||
    !isNames(steps) ||
    !isNames(found.missing)
  )
    throw unreadable();
  const unknown = steps.filter((step) => !migrations.some(({ id }) => id === step));
  if (unknown.length > 0) throw tooNew(`the schema of its database has ${unknown.join(', ')}`);
  return { format, version, createdAt, database, migrations: steps, hasKey, missing: found.missing };
}

function isNames(value: unknown): value is string[] {
  return (
    Array.isArray(value) && value.every((each) => typeof each === 'string' && /^[ -~]{1,200}$/.test(each))
  );
}

function unreadable(): BackupError {
  return new BackupError(`The backup is refused: ${DESCRIPTION} is not that of a backup.`);
}

function tooNew(why: string): BackupError {
  return new BackupError(`The backup was made by a newer version: ${why}.`, {
    hint: 'Restore it with that version, or a later one.',
  });
}

/** The server's part. */
export const SERVER_MEMBER = 'server.tar.gz';

export function storeMember({ kind, id }: StoreEntry): string {
  return `store/${kind}/${id}.tar.gz`;
}

/** Returns the part of the store that a member is; undefined for every other name. */
export function parseStoreMember(name: string): StoreEntry | undefined {
  const [, kind, id] = /^store\/([a-z]+)\/([a-z0-9-]+)\.tar\.gz$/.exec(name) ?? [];
  const entry = { kind: kind ?? '', id: id ?? '' };
  return isStoreEntry(entry) ? entry : undefined;
}
