import { mkdir } from 'node:fs/promises';
import type { Command } from 'commander';
import { lockDirectory } from '#support/directory-lock';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { cliVersion } from '../../cli/version.js';
import { findDataDirectory, runningServers } from '../../connection/local-servers.js';
import { CliError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { explainBackupFailure } from './backup.js';
import { askStatus } from './upgrade/control.js';
import { findInstallation, type Installer } from './upgrade/installation.js';
import {
  type Journal,
  newJournal,
  readJournal,
  removeUpgrade,
  upgradeDirectory,
  writeJournal,
} from './upgrade/journal.js';
import { performUpgrade, type UpgradeParts } from './upgrade/perform.js';
import { expectedAt, judgeFound, planUpgrade, type UpgradePlan } from './upgrade/plan.js';
import {
  askVersion,
  controlOf,
  installerOf,
  isSeparate,
  recordControl,
  requireOwnDirectory,
} from './upgrade/prepare.js';

interface UpgradeFlags {
  to?: string;
  check?: boolean;
  backup?: string;
  dataDir?: string;
}

export function addUpgrade(server: Command): void {
  leaf(
    server,
    'upgrade',
    'replace the server by a newer version; its sandboxes run on, and what fails is undone',
  )
    .option(
      '--to <version>',
      'version of the registry (default latest), directory of a release, or .deb file',
    )
    .option('--check', 'only show what would be done, and if it can be')
    .option('--backup <file>', 'write a backup of everything first, as `svc server backup` does')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .action(
      act(async (cli, flags: UpgradeFlags) => {
        const { dataDir } = await findDataDirectory(cli.env, flags.dataDir);
        await requireOwnDirectory(dataDir);
        const lock = await lockDirectory(dataDir, 'upgrade.lock').catch((error: Error) => {
          throw new CliError(`Another upgrade works there: ${error.message}.`, { code: 'upgrade' });
        });
        try {
          const begun = await readJournal(dataDir);
          if (begun !== undefined) return await goOn(cli, dataDir, begun, flags.check === true);
          const others = (await runningServers(cli.env)).filter((other) => other.dataDir !== dataDir);
          if (others.length > 0)
            cli.out.note(
              `Other servers run here (${others.map((run) => run.dataDir).join(', ')}). Those of this program have to be started again afterwards.`,
            );
          await begin(cli, dataDir, flags);
        } finally {
          await lock.release();
        }
      }),
    );
}

async function begin(cli: Cli, dataDir: string, flags: UpgradeFlags): Promise<void> {
  const { readStoredServer } = await import('@svc/server');
  const installation = await findInstallation(process.argv[1]!);
  const installer = installerOf(installation, dataDir);
  const { root } = upgradeDirectory(dataDir);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const abandon = async () => {
    await installer.discard();
    await removeUpgrade(dataDir);
  };
  let journal: Journal;
  try {
    const stored = await readStoredServer(dataDir).catch((error: unknown) => {
      throw explainUpgradeFailure(error, cli.signal);
    });
    const control = await recordControl(dataDir, isSeparate(dataDir, stored));
    const staged = await withProgress(cli.out, 'Getting the new version', () => installer.stage(flags.to));
    const to = await askVersion(staged);
    const plan = planUpgrade({ from: cliVersion, to, stored, runs: control.kind !== 'none' });
    journal = newJournal({
      from: plan.from,
      to: plan.to,
      installation,
      control,
      isSeparate: isSeparate(dataDir, stored),
    });
    const { what } = controlOf(control, {
      dataDir,
      isSeparate: journal.isSeparate,
      program: installer.program,
    });
    if (flags.check === true) {
      showPlan(cli, plan, { dataDir, what, where: installer.where });
      return await abandon();
    }
    if (flags.backup !== undefined) await backUp(cli, dataDir, flags.backup);
    cli.signal.throwIfAborted();
  } catch (error) {
    await abandon();
    throw error;
  }
  await perform(cli, dataDir, journal, installer);
}

/** Ends what a command before this one began and did not end. */
async function goOn(cli: Cli, dataDir: string, journal: Journal, onlyCheck: boolean): Promise<void> {
  const { from, to, step } = journal;
  const what = `An upgrade from ${from} to ${to} broke off (${step}).`;
  if (onlyCheck)
    throw new CliError(what, {
      code: 'upgrade_unfinished',
      hint: 'Run `svc server upgrade` again: it continues, or goes back.',
    });
  cli.out.note(`${what} This continues it.`);
  await perform(cli, dataDir, journal, installerOf(journal.installation, dataDir));
}

async function perform(cli: Cli, dataDir: string, journal: Journal, installer: Installer): Promise<void> {
  // All of it before a file of this program is replaced: what is loaded later would be the other version's.
  const { copyStoppedDatabase, hasDatabaseCopy, putBackDatabase, readStoredServer } = await import(
    '@svc/server'
  );
  const { database } = upgradeDirectory(dataDir);
  const runs = journal.control.kind !== 'none';
  let sandboxes: readonly { state: string; endAt: number }[] | undefined;
  let replaced: string | undefined;
  cli.signal.addEventListener('abort', () =>
    cli.out.note(
      'This is not left half done. Once more ends the command; `svc server upgrade` then continues.',
    ),
  );
  const parts: UpgradeParts = {
    installer,
    control: controlOf(journal.control, {
      dataDir,
      isSeparate: journal.isSeparate,
      program: installer.program,
    }),
    database: {
      async copy() {
        if (!runs) return;
        await mkdir(database, { recursive: true, mode: 0o700 });
        if (await copyStoppedDatabase(dataDir, database))
          sandboxes = (await readStoredServer(dataDir)).database?.sandboxes;
      },
      async putBack() {
        if (hasDatabaseCopy(database)) replaced = await putBackDatabase(dataDir, database);
      },
    },
    async check(addresses) {
      const status = await askStatus(addresses);
      if (sandboxes === undefined || status === undefined) {
        cli.out.note('Sandboxes were not counted: that needs SQLite and the operator port.');
        return undefined;
      }
      const found = status.recovered.running + status.recovered.paused;
      const expected = expectedAt(Date.now(), sandboxes);
      cli.out.note(
        `Found ${found} of ${expected} sandboxes: ${status.recovered.running} running, ${status.recovered.paused} paused.`,
      );
      return judgeFound(expected, found);
    },
    record: (changed) => writeJournal(dataDir, changed),
    report: (text) => cli.out.note(text),
  };
  const { from, to } = journal;
  const outcome = await performUpgrade(journal, parts).catch((error: Error & { hint?: string }) => {
    throw new CliError(`${error.message} Neither ${to} nor ${from} is up now.`, {
      code: 'upgrade_stuck',
      hint: [
        ...(error.hint === undefined ? [] : [error.hint]),
        'Once that is repaired, run `svc server upgrade` again: it continues from here.',
        ...(hasDatabaseCopy(database) ? [`The database of ${from} is kept in ${database}.`] : []),
      ].join('\n'),
    });
  });
  await removeUpgrade(dataDir);
  await installer.discard();
  if (outcome.kind === 'restored')
    throw new CliError(`The upgrade to ${to} failed; ${from} is ${runs ? 'up again' : 'installed again'}.`, {
      code: 'upgrade_undone',
      hint: [
        outcome.why,
        ...(replaced === undefined
          ? []
          : [`It has its database from before; what ${to} made of it is kept in ${replaced}.`]),
      ].join('\n'),
    });
  cli.out.fields(
    { from, to, running: runs, ...outcome.addresses },
    {
      Upgraded: `${from} to ${to}`,
      API: outcome.addresses?.apiUrl,
      Next: runs
        ? 'svc server doctor --fix builds the base of this version, for new sandboxes.'
        : 'No server ran, and none was started: svc server up.',
    },
  );
}

async function backUp(cli: Cli, dataDir: string, file: string): Promise<void> {
  const { createBackup } = await import('@svc/server');
  const { file: written } = await withProgress(cli.out, `Backing up ${dataDir}`, () =>
    createBackup({
      dataDir,
      file,
      version: cliVersion,
      baseDirectory: cli.env.SVC_BASE_DIR || undefined,
      postgres: Boolean(cli.env.SVC_POSTGRES_URL),
      signal: cli.signal,
    }),
  ).catch((error: unknown) => {
    throw explainBackupFailure(error, cli.signal);
  });
  cli.out.note(`Backed up to ${written}.`);
}

function showPlan(
  cli: Cli,
  plan: UpgradePlan,
  server: { dataDir: string; what: string; where: string },
): void {
  const { from, to, schema, canBeUndone, sandboxes } = plan;
  cli.out.fields(
    { ...plan, ...server },
    {
      Upgrade: `${from} to ${to}`,
      Installed: server.where,
      Runs: server.what,
      Data: server.dataDir,
      Schema:
        schema === undefined
          ? 'PostgreSQL: brought up to date at the start; pg_dump first'
          : schema.length === 0
            ? 'stays as it is'
            : schema.join(', '),
      Undo: canBeUndone
        ? 'possible: the database is copied before'
        : 'the program only: PostgreSQL is not copied, and the version before may refuse a newer schema',
      Sandboxes:
        sandboxes === undefined
          ? 'run on'
          : `${sandboxes.running} running and ${sandboxes.paused} paused continue; connections to them, requests and builds under way end`,
    },
  );
}

function explainUpgradeFailure(error: unknown, signal: AbortSignal): unknown {
  const { name, message } = error as Error;
  return name === 'UpgradeError'
    ? new CliError(`${message}.`, { code: 'upgrade' })
    : explainBackupFailure(error, signal);
}
