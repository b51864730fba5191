import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { findDataDirectory, forgetServer } from '../../connection/local-servers.js';
import { readRunFile } from '../../connection/run-file.js';
import { CliError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { stopServer } from './down.js';

interface UninstallFlags {
  dataDir?: string;
  keepData?: boolean;
  yes?: boolean;
}

export function addUninstall(server: Command): void {
  leaf(server, 'uninstall', 'end the server and its sandboxes and remove all that they have on this machine')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .option('--keep-data', 'leave what is stored: paused sandboxes, volumes, templates, database, keys')
    .option('--yes', 'do not ask')
    .action(
      act(async (cli, flags: UninstallFlags) => {
        const { dataDir } = await findDataDirectory(cli.env, flags.dataDir);
        const keepData = flags.keepData === true;
        if (flags.yes !== true) await confirm(cli, dataDir, keepData);
        const { uninstallServer } = await import('@svc/server');
        const report = await withProgress(cli.out, `Removing the server of ${dataDir}`, async () => {
          const found = await readRunFile(dataDir);
          if (found?.alive === true)
            await stopServer(cli, dataDir, found.run, { timeoutMs: 60_000, force: true });
          return uninstallServer({ dataDir, keepData, baseDirectory: cli.env.SVC_BASE_DIR || undefined });
        }).catch((error: Error & { detail?: string }) => {
          if (error.name === 'UninstallError') throw new CliError(`${error.message}.`, { code: 'uninstall' });
          if (error.name === 'DriverError' && error.detail)
            throw new CliError(error.message, { code: 'uninstall', hint: error.detail });
          throw error;
        });
        await forgetServer(cli.env, dataDir);
        cli.out.fields(
          { dataDir, ...report },
          {
            Ended: `${report.destroyed} sandboxes that ran`,
            Removed: report.removed.length === 0 ? undefined : report.removed.join('\n'),
            Kept: keepData ? dataDir : undefined,
            'Left alone': report.left.length === 0 ? undefined : report.left.join('\n'),
          },
        );
      }),
    );
}

async function confirm(cli: Cli, dataDir: string, keepData: boolean): Promise<void> {
  const what = keepData
    ? `This ends the server of ${dataDir} and every sandbox that runs. What is stored stays.`
    : `This ends the server of ${dataDir} and every sandbox that runs, and DELETES what is stored: paused sandboxes, volumes, templates, database, keys.`;
  if (!cli.io.stdin.isTTY || cli.out.json)
    throw new CliError(what, { code: 'not_confirmed', hint: 'Say --yes if that is meant.' });
  const terminal = createInterface({ input: cli.io.stdin, output: cli.io.stderr });
  try {
    const answer = await terminal.question(`${what}\nType the data directory to go on: `, {
      signal: cli.signal,
    });
    if (answer.trim() !== dataDir) throw new CliError('Nothing was changed.', { code: 'not_confirmed' });
  } finally {
    terminal.close();
  }
}
