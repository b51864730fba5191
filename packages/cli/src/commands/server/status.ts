import type { ServerStatus } from '@svc/server';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { cliVersion } from '../../cli/version.js';
import { findDataDirectory } from '../../connection/local-servers.js';
import { type RunFile, readRunFile } from '../../connection/run-file.js';
import { CliError } from '../../errors/cli-error.js';
import { formatDuration } from '../../output/format.js';

const answerWithinMs = 5_000;

export function addStatus(server: Command): void {
  leaf(server, 'status', 'show if a server runs on this machine, and its state')
    .option('--data-dir <dir>', 'data directory of the server (SVC_DATA_DIR)')
    .action(
      act(async (cli, flags: { dataDir?: string }) => {
        const { dataDir, others } = await findDataDirectory(cli.env, flags.dataDir);
        const found = await readRunFile(dataDir);
        if (found?.alive !== true) throw notRunning(dataDir, found !== undefined);
        const { run } = found;
        const status = run.operatorUrl === undefined ? undefined : await askOperator(run.operatorUrl);
        const running = status?.sandboxes;
        cli.out.fields(
          { ...run, status },
          {
            State: status?.state ?? 'running',
            Reason: status?.reason,
            Process: run.pid,
            Up: formatDuration(Date.now() - Date.parse(run.startedAt)),
            Driver:
              `${run.driver}${run.driver === 'process' ? cli.out.style.red(' (NO ISOLATION)') : ''}\n${status?.driver.summary ?? ''}`.trimEnd(),
            Sandboxes:
              running === undefined
                ? undefined
                : `${running.running} running, ${running.paused} paused, ${running.changing} changing; at most ${running.most}`,
            Storage: status?.storage,
            Disk: status?.disk === undefined ? undefined : formatDisk(status.disk),
            API: run.apiUrl,
            Gateway: run.sandboxUrl,
            Operator: run.operatorUrl,
            Data: run.dataDir,
            Log: run.logFile,
            'Also here': others.length === 0 ? undefined : others.map((each) => each.dataDir).join('\n'),
          },
        );
      }),
    );
}

function formatDisk({ freeMiB, reserveMiB, store }: ServerStatus['disk']): string {
  const gib = (mib: number) => `${(mib / 1024).toFixed(1)} GiB`;
  const own = `${gib(freeMiB)} free, ${gib(reserveMiB)} of it kept for the service`;
  if (store === undefined) return own;
  return `${own}\nsandboxes, volumes, snapshots: ${gib(store.usedMiB)} used, ${gib(store.freeMiB)} free`;
}

async function askOperator(url: NonNullable<RunFile['operatorUrl']>): Promise<ServerStatus> {
  try {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(answerWithinMs) });
    if (response.ok) return (await response.json()) as ServerStatus;
    throw new Error(`it answered ${response.status}`);
  } catch (error) {
    throw new CliError(
      `The server's process runs, but its operator port ${url} gives no status: ${(error as Error).message}.`,
      {
        code: 'unhealthy',
        hint: 'Its log may have more. `svc server down --force` ends it.',
      },
    );
  }
}

function notRunning(dataDir: string, died: boolean): CliError {
  return new CliError(`No server runs in ${dataDir}.`, {
    code: 'not_running',
    hint: [
      ...(died
        ? ['The last one ended without saying so; its sandboxes are taken over by the next start.']
        : []),
      '`svc server up` starts it. For one with another directory: --data-dir.',
    ].join('\n'),
  });
}

/** The version of a program of the service, for people and for the upgrade that is to install it. */
export interface ProgramVersion {
  version: string;
  /** Steps of the database's schema that it knows, in their order. */
  schema: readonly string[];
}

export function addVersion(server: Command): void {
  leaf(server, 'version', 'show the version of this program, and the schema that it knows').action(
    act(async (cli) => {
      const { schemaSteps } = await import('@svc/server');
      const found: ProgramVersion = { version: cliVersion, schema: schemaSteps };
      cli.out.fields(
        { ...found, node: process.version },
        { Version: cliVersion, Schema: schemaSteps.at(-1), Node: process.version },
      );
    }),
  );
}
