import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeJson } from '../../../connection/json-file.js';
import { CliError } from '../../../errors/cli-error.js';
import type { ControlRecord } from './control.js';
import type { Installation } from './installation.js';

/** Changes when an older version could not continue what a newer one began, or the other way round. */
const FORMAT = 1;

/** In the order in which they are done; `restoring` comes after any of them that failed. */
export const steps = ['stopping', 'copying', 'installing', 'starting', 'checking'] as const;
export type Step = (typeof steps)[number] | 'restoring';

/** The facts that an upgrade needs to continue, or go back, after it was killed. It has the server's environment: only root reads it. */
export interface Journal {
  format: typeof FORMAT;
  step: Step;
  /** Why it goes back; a sentence. */
  why?: string;
  /** True when the new version was ever started: it may have changed the database then. */
  newStarted: boolean;
  from: string;
  to: string;
  installation: Installation;
  control: ControlRecord;
  /** True when the server is two processes, and its files are another user's. */
  isSeparate: boolean;
}

/** Where an upgrade keeps what is its own. Root's. */
export function upgradeDirectory(dataDir: string) {
  const root = join(dataDir, 'upgrade');
  return {
    root,
    journal: join(root, 'journal.json'),
    database: join(root, 'database'),
    package: join(root, 'package'),
  };
}

export function newJournal(facts: Omit<Journal, 'format' | 'step' | 'newStarted'>): Journal {
  return { format: FORMAT, step: 'stopping', newStarted: false, ...facts };
}

/** The upgrade that broke off; undefined where there is none. @throws {CliError} for one of another version's */
export async function readJournal(dataDir: string): Promise<Journal | undefined> {
  const { journal: file, root } = upgradeDirectory(dataDir);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const found = JSON.parse(text) as Journal;
  if (found.format !== FORMAT)
    throw new CliError(
      `An upgrade from ${found.from} to ${found.to} broke off, and this version cannot continue it.`,
      {
        code: 'upgrade',
        hint: `Install ${found.from} or ${found.to} and run \`svc server upgrade\` of it, or remove ${root} once a server runs as it should.`,
      },
    );
  return found;
}

export async function writeJournal(dataDir: string, journal: Journal): Promise<void> {
  const { root, journal: file } = upgradeDirectory(dataDir);
  await mkdir(root, { recursive: true, mode: 0o700 });
  await writeJson(file, journal);
}

/** The last thing that an upgrade does: nothing is left to continue. */
export async function removeUpgrade(dataDir: string): Promise<void> {
  const { root, journal } = upgradeDirectory(dataDir);
  await rm(journal, { force: true });
  await rm(root, { recursive: true, force: true });
}
