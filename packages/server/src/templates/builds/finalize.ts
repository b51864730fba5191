import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '@svc/runtime/contract';
import { quiesceDaemon } from '../../sandboxes/change/quiesce.js';
import { IN_LOGIN_SHELL } from '../../sandboxes/daemon/start-command.js';
import { recordCheckpoint, recordCheckpointSize } from '../../sandboxes/records/checkpoints.js';
import { daemonToken } from '../../sandboxes/state/sandbox-tokens.js';
import { fromJson } from '../../storage/json.js';
import { decryptEnv, makeLayer } from './run-steps.js';
import type { BuildState } from './shared/build.js';
import { BuildError, buildSpec } from './shared/build.js';
import type { BuildTools } from './shared/build-tools.js';
import { BuildMachine } from './shared/machine.js';

export interface FinishedBuild {
  state: BuildState;
  /** Memory of the instance whose start command is ready; sandboxes resume from it. */
  checkpoint: { id: string; instanceId: string } | undefined;
}

/** The last phase: the start command runs, and the template is ready once its ready command says so. */
export async function finalize(tools: BuildTools, given: BuildState): Promise<FinishedBuild> {
  const { context, job, signal } = tools;
  let state = given;
  const path = state.env.PATH;
  const knownPath = job.parent === undefined ? undefined : fromJson(job.parent.env_vars).PATH;
  if (path !== undefined && path !== knownPath && context.driver.capabilities.layers === 'rootfs')
    state = await withPathProfile(tools, state, path);
  const { startCommand, readyCommand } = state;
  if (startCommand === null && readyCommand === null) return { state, checkpoint: undefined };

  await using machine = await BuildMachine.boot(
    context,
    buildSpec(context, job.build, state.layers),
    {
      teamId: job.build.team_id,
      env: { ...decryptEnv(tools, state), ...state.env },
      user: state.user,
      workdir: state.workdir,
    },
    signal,
  );
  const leave = new AbortController();
  const started =
    startCommand === null ? undefined : startProgram(tools, machine, state, startCommand, leave.signal);
  try {
    await Promise.race([
      waitUntilReady(tools, machine, state),
      // A start command may exit with 0: then it has done its work.
      ...(started === undefined ? [] : [started.then(() => new Promise<never>(() => {}))]),
    ]);
  } finally {
    leave.abort();
    await started?.catch(() => {});
  }
  return { state, checkpoint: startCommand === null ? undefined : await keepMemory(tools, machine) };
}

async function withPathProfile(tools: BuildTools, state: BuildState, path: string): Promise<BuildState> {
  const layer = await makeLayer(tools, state, async (machine) => {
    await machine.script('setting PATH', pathProfile, [path]);
    return 'changed';
  });
  return layer === null ? state : { ...state, layers: [...state.layers, layer.id] };
}

/** Runs the start command; rejects when it fails. It keeps running when the caller leaves. */
async function startProgram(
  { log }: BuildTools,
  machine: BuildMachine,
  state: BuildState,
  command: string,
  leave: AbortSignal,
): Promise<void> {
  log.add('info', `start command: ${command}`);
  let code: number;
  try {
    code = await machine.run({
      script: IN_LOGIN_SHELL,
      args: [command],
      user: state.user,
      cwd: state.workdir ?? undefined,
      tag: 'start-command',
      onLine: (stream, line) => log.add(stream === 'stdout' ? 'info' : 'warn', line),
      signal: leave,
    });
  } catch (error) {
    if (leave.aborted) return;
    throw error;
  }
  if (code !== 0)
    throw new BuildError(
      code < 0
        ? 'the start command was ended by a signal'
        : `the start command ended with exit status ${code}`,
    );
}

async function waitUntilReady(tools: BuildTools, machine: BuildMachine, state: BuildState): Promise<void> {
  const { readyIntervalMs, readyTimeoutMs, startWaitMs } = tools.context.config.builds;
  const { log, signal } = tools;
  const command = state.readyCommand;
  if (command === null) {
    log.add('info', `no ready command: waiting ${startWaitMs / 1000} s`);
    await sleep(startWaitMs, undefined, { signal });
    return;
  }
  log.add('info', `ready command: ${command}`);
  const limit = AbortSignal.timeout(readyTimeoutMs);
  let last = '';
  for (;;) {
    const code = await machine
      .run({
        script: IN_LOGIN_SHELL,
        args: [command],
        user: state.user,
        cwd: state.workdir ?? undefined,
        onLine: (_stream, line) => {
          last = line;
        },
        signal: limit,
      })
      .catch((error: unknown) => {
        if (!limit.aborted || signal.aborted) throw error;
        return -1;
      });
    if (code === 0) break;
    if (limit.aborted)
      throw new BuildError(
        `the ready command did not succeed within ${readyTimeoutMs / 1000} s${last === '' ? '' : `; it said: ${last}`}`,
      );
    log.add('debug', `not ready yet (exit status ${code})${last === '' ? '' : `: ${last}`}`);
    await sleep(readyIntervalMs, undefined, { signal });
  }
  log.add('info', 'ready');
}

/** Stores the memory of the ready program if the driver can; otherwise each sandbox starts the command itself. */
async function keepMemory(tools: BuildTools, machine: BuildMachine): Promise<FinishedBuild['checkpoint']> {
  const { context, job, log } = tools;
  if (!context.driver.capabilities.memorySnapshot) return undefined;
  const id = `template-${job.build.id}`;
  const owner = { owner_kind: 'build', owner_id: job.build.id, team_id: job.build.team_id } as const;
  await context.db.transaction().execute((tx) => recordCheckpoint(context, tx, id, owner, true));
  try {
    const token = daemonToken(context.keys, { id: machine.instance.id, daemon_generation: 0 });
    // This daemon gets no further token: the instance ends with the build.
    await quiesceDaemon(context, machine.instance, id, [token]);
    const { sizeBytes } = await machine.instance.checkpoint({
      checkpointId: id,
      memory: true,
      then: 'continue',
      signal: tools.signal,
    });
    await recordCheckpointSize(context.db, id, sizeBytes);
    log.add('info', 'the running program is stored: sandboxes resume from here');
    return { id, instanceId: machine.instance.id };
  } catch (error) {
    await context.db.deleteFrom('checkpoints').where('id', '=', id).execute();
    if (!DriverError.is(error)) throw error;
    log.add('warn', `the running program cannot be stored (${error.message}): each sandbox starts it anew`);
    return undefined;
  }
}

/** Makes login shells keep the PATH of the template, `$1`: `/etc/profile` sets its own. */
const pathProfile = `set -eu
mkdir -p /etc/profile.d
printf 'export PATH=%s\\n' "'$(printf %s "$1" | sed "s/'/'\\\\\\\\''/g")'" > /etc/profile.d/90-template-path.sh`;
