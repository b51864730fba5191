import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { cliVersion } from '../../cli/version.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { formatBytes } from '../../output/format.js';
import { withProgress } from '../../output/progress.js';
import { explainBackupFailure } from './backup-failure.js';

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
