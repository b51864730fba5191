import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from '@svc/runtime/contract';
import type { SandboxPorts, Uses } from '../context.js';
import { initDaemon } from '../daemon/daemon-control.js';
import { changeRow, type RowPatch } from '../records/rows.js';
import { environmentOf } from '../start/boot.js';
import type { LiveSandbox } from '../state/live.js';
import { daemonToken, imageToken, nextDaemonToken } from '../state/sandbox-tokens.js';

/** Time limit for calls to the daemon, ms. */
const TELL_MS = 5_000;
const RETRY_MS = 2_000;

/**
 * Makes a daemon forget its variables and its token before its memory is stored. What is left in the image opens nothing
 * but copies of this checkpoint that did not get their own token yet.
 * @param tokens of which the daemon knows one.
 * @throws when the daemon does not answer.
 */
export function quiesceDaemon(
  context: Uses<'keys'>,
  instance: Instance,
  checkpointId: string,
  tokens: readonly string[],
): Promise<void> {
  const settings = { quiesced: true, accessToken: imageToken(context.keys, checkpointId), envVars: {} };
  return initDaemon(instance, settings, { tokens, timeoutMs: TELL_MS });
}

/** As `quiesceDaemon`, of a running sandbox. */
export function quiesceSandbox(
  context: Uses<'keys'>,
  live: LiveSandbox,
  checkpointId: string,
): Promise<void> {
  return quiesceDaemon(context, live.instance!, checkpointId, [daemonToken(context.keys, live.row)]);
}

/**
 * Gives the daemon of a running sandbox its variables back, and a token that no image has. When it does not answer it
 * gets it later.
 * @returns what changes in the row.
 */
export async function unquiesceSandbox(context: SandboxPorts, live: LiveSandbox): Promise<RowPatch> {
  const { instance, row } = live;
  try {
    await resumeDaemon(context, live);
    return { daemon_generation: row.daemon_generation + 1 };
  } catch (error) {
    context.log.warn(
      { err: error, sandboxId: row.id },
      'a daemon did not get its token, will be tried again',
    );
    void keepTelling(context, live, instance!);
    return {};
  }
}

async function resumeDaemon(context: Uses<'keys'>, live: LiveSandbox): Promise<void> {
  const { instance, row } = live;
  const next = nextDaemonToken(context.keys, row);
  await initDaemon(
    instance!,
    { accessToken: next, envVars: environmentOf(context, row), quiesced: false },
    // A quiesced daemon takes the token before as well; one that was resumed already has the next.
    { tokens: [daemonToken(context.keys, row), next], timeoutMs: TELL_MS },
  );
}

async function keepTelling(context: SandboxPorts, live: LiveSandbox, instance: Instance): Promise<void> {
  const generation = live.row.daemon_generation;
  for (;;) {
    await sleep(RETRY_MS, undefined, { ref: false });
    const current = live.instance === instance && !live.deleted && !context.signal.aborted;
    if (!current || live.row.daemon_generation !== generation) return;
    // A change that is under way quiesces or resumes the daemon itself.
    if (live.transition !== undefined) continue;
    try {
      await resumeDaemon(context, live);
      await changeRow(context, live, (row) =>
        row.daemon_generation === generation ? { daemon_generation: generation + 1 } : undefined,
      );
      return;
    } catch (error) {
      context.log.debug({ err: error, sandboxId: live.row.id }, 'the daemon still does not answer');
    }
  }
}
