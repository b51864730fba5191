import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { transferText, withProgress } from '../../output/progress.js';
import { explainBackupFailure } from './backup-failure.js';

interface RestoreFlags {
  dataDir?: string;
  check?: boolean;
  force?: boolean;
  user?: string;
}

export function addRestore(server: Command): void {
  leaf(server, 'restore <file>', 'make the data directory of a server of a backup')
    .option('--data-dir <dir>', 'data directory to make; empty, or not there (SVC_DATA_DIR)')
    .option('--check', 'only read the backup to its end and tell what it holds')
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
