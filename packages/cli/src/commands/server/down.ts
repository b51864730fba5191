import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { isSameProcess } from '#support/process-identity';
import type { Cli } from '../../cli/cli.js';
import { act, leaf } from '../../cli/leaf.js';
import { findDataDirectory, forgetServer } from '../../connection/local-servers.js';
import { type RunFile, readRunFile, removeRunFile } from '../../connection/run-file.js';
import { CliError } from '../../errors/cli-error.js';
import { withProgress } from '../../output/progress.js';
import { parseDuration } from '../../parse/duration.js';

interface DownFlags {
  dataDir?: string;
  timeout?: number;
  force?: boolean;
}

const lookMs = 100;

export function addDown(server: Command): void {
  leaf(server, 'down', 'stop the server of this machine; its sandboxes run on')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .option('--timeout <span>', 'longest time to wait for it (default: 30s)', parseDuration)
    .option('--force', 'end it with SIGKILL when that time is over')
    .action(
      act(async (cli, flags: DownFlags) => {
        const { dataDir, others } = await findDataDirectory(cli.env, flags.dataDir);
        const found = await readRunFile(dataDir);
        // Only the very process that wrote the file: its pid may be someone else's by now.
        if (found === undefined || !found.alive) {
          if (found !== undefined) await removeRunFile(dataDir, found.run.pid);
          await forgetServer(cli.env, dataDir);
          cli.out.result({ stopped: false, dataDir }, () => `No server runs in ${dataDir}.\n`);
          return;
        }
        if (others.length > 0)
          cli.out.note(
            `Stopping the server of ${dataDir}; --data-dir names another: ${others.map((run) => run.dataDir).join(', ')}`,
          );
        const { pid } = found.run;
        await withProgress(cli.out, `Stopping the server (process ${pid})`, () =>
          stopServer(cli, dataDir, found.run, { timeoutMs: flags.timeout, force: flags.force }),
        );
        await forgetServer(cli.env, dataDir);
        cli.out.result({ stopped: true, pid, dataDir }, () => `Stopped (process ${pid}).\n`);
      }),
    );
}

/** Ends the server that wrote the run file. @throws {CliError} when it does not end */
export async function stopServer(
  cli: Pick<Cli, 'signal'>,
  dataDir: string,
  { pid, processStart: start }: Pick<RunFile, 'pid' | 'processStart'>,
  { timeoutMs = 30_000, force = false }: { timeoutMs?: number | undefined; force?: boolean | undefined },
): Promise<void> {
  const isGone = async () => !isSameProcess(pid, start);
  send(pid, 'SIGTERM');
  if (!(await waitUntil(isGone, timeoutMs, cli.signal))) {
    if (!force)
      throw new CliError(`The server (process ${pid}) still runs after ${timeoutMs / 1000} s.`, {
        hint: 'Wait longer with --timeout 2m, or end it with --force.',
      });
    send(pid, 'SIGKILL');
    if (!(await waitUntil(isGone, 5_000, cli.signal))) throw new CliError(`Process ${pid} cannot be ended.`);
  }
  await removeRunFile(dataDir, pid);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return;
    if (code === 'EPERM')
      throw new CliError(`The server (process ${pid}) belongs to another user.`, { hint: 'Try with sudo.' });
    throw error;
  }
}

async function waitUntil(
  condition: () => Promise<boolean>,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const end = Date.now() + limitMs;
  for (;;) {
    if (await condition()) return true;
    if (Date.now() >= end) return false;
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

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
    const answer = await terminal.question(`${what}\nType the data directory to continue: `, {
      signal: cli.signal,
    });
    if (answer.trim() !== dataDir) throw new CliError('Nothing was changed.', { code: 'not_confirmed' });
  } finally {
    terminal.close();
  }
}
