import { readdir, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { findHolder, type Holder } from '../../../connection/lock-holder.js';
import { CliError } from '../../../errors/cli-error.js';
import { stopServer } from '../down.js';
import { detachedArgumentsVariable, detachedVariable } from '../parent-report.js';
import {
  type Addresses,
  type ControlRecord,
  directoryOf,
  environmentOf,
  type ServerControl,
} from './control.js';
import type { ProgramFile } from './installation.js';
import { runProgram } from './run-program.js';

type BackgroundRecord = Extract<ControlRecord, { kind: 'background' }>;

/**
 * Reads how a server was started. The process is root's, which nobody else can have made say something else.
 * @throws {CliError} for one that runs in somebody's foreground, or was started by a version that did not say
 */
export async function recordBackground({ pid }: Holder): Promise<BackgroundRecord> {
  const environment = await environmentOf(pid);
  const words = environment[detachedArgumentsVariable];
  if (words === undefined)
    throw new CliError(
      `The server (process ${pid}) was not started in the background by this version or a later one.`,
      {
        code: 'upgrade',
        hint: 'Stop it where it was started, run this again, which then replaces the program alone, and start it there.',
      },
    );
  delete environment[detachedArgumentsVariable];
  delete environment[detachedVariable];
  return {
    kind: 'background',
    arguments: JSON.parse(words) as string[],
    environment,
    directory: await directoryOf(pid),
  };
}

/** A server that `svc server up --detach` started. */
export function backgroundServer(
  record: BackgroundRecord,
  { dataDir, isSeparate, program }: { dataDir: string; isSeparate: boolean; program: ProgramFile },
): ServerControl {
  const holder = () => findHolder(dataDir, isSeparate);
  const command = [program.node, program.file, ...record.arguments, '--detach', '--json'];
  return {
    what: `svc server up --detach, in ${dataDir}`,
    async isRunning() {
      await endOfStarts(command);
      return (await holder()) !== undefined;
    },
    async stop() {
      await endOfStarts(command);
      const running = await holder();
      if (running === undefined) return;
      await stopServer(
        { signal: new AbortController().signal },
        dataDir,
        { pid: running.pid, processStart: running.start },
        { timeoutMs: 90_000, force: true },
      );
    },
    async start() {
      await endOfStarts(command);
      const banner = await runProgram(program.node, command.slice(1), {
        cwd: record.directory,
        env: record.environment,
      }).catch((error: CliError) => {
        throw startFailure(error);
      });
      const { apiUrl, operatorUrl } = JSON.parse(banner) as Addresses;
      return { apiUrl, ...(operatorUrl === undefined ? {} : { operatorUrl }) };
    },
  };
}

/** Restores the error that the command printed as JSON. */
function startFailure(error: CliError): CliError {
  try {
    const said = JSON.parse(error.hint ?? '') as { error: { message: string; hint?: string } };
    const { message, hint } = said.error;
    return new CliError(message, { code: 'upgrade', ...(hint === undefined ? {} : { hint }) });
  } catch {
    return error;
  }
}

const START_MS = 300_000;
const LOOK_MS = 250;

/**
 * Waits for starts under way: one outlives the upgrade that began it and was killed, and its server has no lock yet by which it could
 * be found.
 */
async function endOfStarts(command: readonly string[]): Promise<void> {
  for (const since = performance.now(); await isUnderWay(command); await sleep(LOOK_MS))
    if (performance.now() - since > START_MS)
      throw new CliError(`A start of the server has not ended in ${START_MS / 1000} s.`, { code: 'upgrade' });
}

/** Returns true when root runs exactly this command. */
async function isUnderWay(command: readonly string[]): Promise<boolean> {
  const wanted = `${command.join('\0')}\0`;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (words !== wanted) continue;
    const found = await stat(`/proc/${pid}`).catch(() => undefined);
    if (found?.uid === 0) return true;
  }
  return false;
}
