import { existsSync } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import type { StoredServer } from '@svc/server';
import { findHolder, isRootsAlone } from '../../../connection/lock-holder.js';
import { CliError } from '../../../errors/cli-error.js';
import type { ProgramVersion } from '../status.js';
import { backgroundServer, recordBackground } from './background-server.js';
import { type ControlRecord, noServer, type ServerControl } from './control.js';
import { debPackage } from './deb-package.js';
import type { Installation, Installer, ProgramFile } from './installation.js';
import { upgradeDirectory } from './journal.js';
import { npmGlobal } from './npm-global.js';
import { npmProject } from './npm-project.js';
import { runProgram } from './run-program.js';
import { findSystemd, realSystemd, systemdServer } from './systemd-server.js';

export function installerOf(installation: Installation, dataDir: string): Installer {
  switch (installation.kind) {
    case 'npm-global':
      return npmGlobal(installation);
    case 'npm-project':
      return npmProject(installation);
    case 'deb':
      return debPackage(upgradeDirectory(dataDir).package);
  }
}

/** @throws {CliError} for a data directory of which this process cannot, or should not, replace the server */
export async function requireOwnDirectory(dataDir: string): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new CliError('An upgrade is done by root.', { code: 'upgrade', hint: 'Try with sudo.' });
  const found = await lstat(dataDir).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`The data directory ${dataDir} cannot be used: ${error.message}.`, {
      code: 'upgrade',
    });
  });
  // Root's journal and copies lie there, and what they say is run.
  if (!isRootsAlone(found))
    throw new CliError(
      `The data directory ${dataDir} is not root's alone: it belongs to user ${found.uid}, mode ${(found.mode & 0o777).toString(8)}.`,
      {
        code: 'upgrade',
        hint: 'A server of another user is upgraded by hand, as that user: docs/upgrading.md.',
      },
    );
}

/** Records the way in which the server of a data directory runs. @throws {CliError} for one that this command could not start again */
export async function recordControl(dataDir: string, isSeparate: boolean): Promise<ControlRecord> {
  if (existsSync('/run/systemd/system')) {
    const found = await findSystemd(dataDir, realSystemd);
    if (found !== undefined) return found;
  }
  const holder = await findHolder(dataDir, isSeparate);
  if (holder === undefined) return { kind: 'none' };
  const { uid } = await stat(`/proc/${holder.pid}`);
  if (uid !== 0)
    throw new CliError(`The server (process ${holder.pid}) belongs to user ${uid}.`, {
      code: 'upgrade',
      hint: 'It is upgraded by hand, as that user: docs/upgrading.md.',
    });
  return recordBackground(holder);
}

export function controlOf(
  record: ControlRecord,
  server: { dataDir: string; isSeparate: boolean; program: ProgramFile },
): ServerControl {
  switch (record.kind) {
    case 'none':
      return noServer;
    case 'background':
      return backgroundServer(record, server);
    case 'systemd':
      return systemdServer(record, realSystemd);
  }
}

/** Asks a program which version it is. @throws {CliError} for one that does not run here, or is too old to say */
export async function askVersion({ node, file }: ProgramFile): Promise<ProgramVersion> {
  const said = await runProgram(node, [file, 'server', 'version', '--json'], { timeoutMs: 120_000 }).catch(
    (error: CliError) => {
      throw new CliError(
        'The new version does not run on this machine, or is too old to be installed by this command.',
        {
          code: 'upgrade',
          hint: error.hint ?? error.message,
        },
      );
    },
  );
  const { version, schema } = JSON.parse(said) as ProgramVersion;
  return { version, schema };
}

/** Returns true when a server's files are a part of the data directory of their own, which is its user's. */
export function isSeparate(dataDir: string, { directory }: Pick<StoredServer, 'directory'>): boolean {
  return directory !== dataDir;
}
