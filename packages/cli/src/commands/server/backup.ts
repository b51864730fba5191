import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { cliVersion } from '../../cli/version.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { CliError } from '../../errors/cli-error.js';
import { formatBytes } from '../../output/format.js';
import { transferText, withProgress } from '../../output/progress.js';

interface BackupFlags {
  dataDir?: string;
  key: boolean;
  bases: boolean;
}

export function addBackup(server: Command): void {
  leaf(server, 'backup <file>', 'write all that the server keeps to one file, while it runs or not')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .option('--no-key', 'leave server.key out: without it no secret in the file can be read, nor restored')
    .option(
      '--no-bases',
      'leave out the root file systems of the template base, which another machine may have',
    )
    .action(
      act(async (cli, file: string, flags: BackupFlags) => {
        const { dataDir, others } = await findDataDirectory(cli.env, flags.dataDir);
        if (others.length > 0)
          cli.out.note(
            `Backing up ${dataDir}; --data-dir names another: ${others.map((run) => run.dataDir).join(', ')}`,
          );
        const { createBackup } = await import('@svc/server');
        const startedAt = performance.now();
        const report = await withProgress(cli.out, `Backing up ${dataDir}`, (progress) =>
          createBackup({
            dataDir,
            file,
            version: cliVersion,
            key: flags.key,
            bases: flags.bases,
            baseDirectory: cli.env.SVC_BASE_DIR || undefined,
            postgres: Boolean(cli.env.SVC_POSTGRES_URL),
            signal: cli.signal,
            onProgress: (name, bytes) => progress.update(`${name}  ${formatBytes(bytes)}`),
          }),
        ).catch((error: unknown) => {
          throw explainBackupFailure(error, cli.signal);
        });
        const seconds = (performance.now() - startedAt) / 1_000;
        cli.out.fields(
          { dataDir, ...report },
          {
            File: `${report.file} (${formatBytes(report.sizeBytes)}, ${seconds.toFixed(1)} s)`,
            'Data directory': dataDir,
            Database:
              report.database === 'sqlite' ? 'in it' : 'PostgreSQL: NOT in it; keep a pg_dump of it beside',
            Key: report.hasKey
              ? 'in it: who has the file can read every secret'
              : 'NOT in it; keep server.key, or what SVC_SERVER_KEY was',
            Stored: `${report.checkpoints} paused sandboxes, snapshots and templates with memory; ${report.layers} layers, ${report.volumes} volumes, ${report.bases} bases`,
            'Running sandboxes': 'NOT in it: pause those that matter first',
            Missing: report.missing.length === 0 ? undefined : report.missing.join(', '),
            'Missing bases': report.missingBases.length === 0 ? undefined : report.missingBases.join(', '),
          },
        );
      }),
    );
}

interface RestoreFlags {
  dataDir?: string;
  check?: boolean;
  force?: boolean;
  user?: string;
}

export function addRestore(server: Command): void {
  leaf(server, 'restore <file>', 'make the data directory of a server of a backup')
    .option('--data-dir <dir>', 'data directory to make; empty, or not there (SVC_DATA_DIR)')
    .option('--check', 'only read the backup to its end and print what it contains')
    .option('--force', 'move data that is there aside; no server and no sandbox of it may run')
    .option('--user <name>', 'user that the server will run as (SVC_USER; default svc)')
    .action(
      act(async (cli, file: string, flags: RestoreFlags) => {
        const { checkBackup, restoreBackup } = await import('@svc/server');
        const { dataDir } = await findDataDirectory(cli.env, flags.dataDir);
        const startedAt = performance.now();
        const found = await withProgress(cli.out, `Reading ${file}`, async (progress) => {
          const options = {
            file,
            signal: cli.signal,
            onProgress: (what: string, done: number, of: number) =>
              progress.update(
                what === 'checked' ? transferText('checking', done, of) : `${what} (${done} of ${of})`,
              ),
          };
          if (flags.check === true) return { movedTo: [], ...(await checkBackup(options)) };
          return restoreBackup({
            ...options,
            dataDir,
            user: flags.user ?? (cli.env.SVC_USER || undefined),
            force: flags.force === true,
            baseDirectory: cli.env.SVC_BASE_DIR || undefined,
          });
        }).catch((error: unknown) => {
          throw explainBackupFailure(error, cli.signal);
        });
        const { description, entries, movedTo } = found;
        const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
        const seconds = (performance.now() - startedAt) / 1_000;
        const record = { file, ...description, entries: entries.map(({ kind, id }) => `${kind}/${id}`) };
        const restored = flags.check !== true;
        cli.out.fields(restored ? { ...record, dataDir, movedTo } : record, {
          ...(restored
            ? { Restored: `${dataDir} (${seconds.toFixed(1)} s)` }
            : { Backup: `${file} is whole` }),
          Made: `${description.createdAt}, by version ${description.version}`,
          Database:
            description.database === 'sqlite'
              ? 'in it'
              : 'PostgreSQL: not in it; restore its pg_dump before the server starts',
          Key: description.hasKey
            ? 'in it'
            : `not in it; put server.key into ${dataDir}/server, or set SVC_SERVER_KEY, before the server starts`,
          Stored: `${count('checkpoint')} paused sandboxes, snapshots and templates with memory; ${count('layer')} layers, ${count('volume')} volumes, ${count('base')} bases`,
          'Moved aside': movedTo.length === 0 ? undefined : movedTo.join('\n'),
          Next: restored
            ? 'svc server up. Never while the server that was backed up still runs: both would answer for the same sandboxes.'
            : undefined,
        });
      }),
    );
}

/** Turns what ended a backup or a restore into what to do about it. An interruption stays what it is. */
export function explainBackupFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const { name, message, code, hint, detail } = error as Partial<NodeJS.ErrnoException> & {
    hint?: string;
    detail?: string;
  };
  const text = message ?? String(error);
  switch (name) {
    case 'BackupError':
      return new CliError(text, { code: 'backup', ...(hint === undefined ? {} : { hint }) });
    case 'DriverError':
      return new CliError(text, { code: 'backup', ...(detail ? { hint: detail } : {}) });
    case 'ServiceUserError':
    case 'DataDirectoryError':
      return new CliError(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { code: 'backup' });
    case 'DirectoryLockedError':
      return new CliError(`Another restore works there: ${text}.`, { code: 'backup' });
  }
  if (code === 'ENOSPC')
    return new CliError(`There is no room left: ${text}.`, {
      code: 'backup',
      hint: 'Free some, or name a file or a directory on another file system.',
    });
  return error;
}
