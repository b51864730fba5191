import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import { inSpan } from '../../api/context/tracer.js';
import { dropCheckpoint } from '../../sandboxes/records/checkpoints.js';
import { isDatabaseAway } from '../../storage/database-errors.js';
import { toJson } from '../../storage/json.js';
import type { BuildReason } from '../../storage/json-shapes.js';
import type { Uses } from '../context.js';
import { prepareBase } from './base.js';
import { type FinishedBuild, finalize } from './finalize.js';
import { runSteps } from './run-steps.js';
import type { BuildJob, BuildState } from './shared/build.js';
import { BuildError } from './shared/build.js';
import { BuildLog } from './shared/build-log.js';
import type { BuildPorts } from './shared/build-tools.js';
import { LayerCache } from './shared/layer-cache.js';

const RETRY_MS = 1_000;

/** Runs one build from its base to its end and stores the result. Never throws. */
export async function runBuild(context: BuildPorts, job: BuildJob, cancelled: AbortSignal): Promise<void> {
  const log = new BuildLog(context, job.build.id);
  const limit = AbortSignal.timeout(context.config.builds.timeoutMs);
  const signal = anyOf([cancelled, limit]);
  let layers: string[] = [];
  try {
    const tools = {
      context,
      job,
      cache: new LayerCache(context, job.build.team_id),
      log,
      signal,
      onLayers: (reached: string[]) => {
        layers = reached;
      },
    };
    signal.throwIfAborted();
    const base = await inSpan(context.tracer, 'build.base', () => prepareBase(tools));
    layers = base.layers;
    const state = await inSpan(context.tracer, 'build.steps', () => runSteps(tools, base));
    log.step = 'finalize';
    const finished = await inSpan(context.tracer, 'build.finalize', () =>
      finalize(tools, withCommands(state, job)),
    );
    signal.throwIfAborted();
    log.add('info', 'the build is ready');
    await log.flush();
    await untilDone(context, job, () => markReady(context, job, finished));
  } catch (error) {
    const message = limit.aborted
      ? `the build took longer than ${context.config.builds.timeoutMs / 1000} s`
      : cancelled.aborted
        ? messageOfCancel(cancelled.reason)
        : explain(context, job, error);
    log.add('error', message);
    await log.flush();
    await untilDone(context, job, () => markFailed(context, job, { message, step: log.step }, layers)).catch(
      (failure: unknown) => {
        context.log.error({ err: failure, buildId: job.build.id }, 'the end of a build could not be written');
      },
    );
  }
}

/** Stores the end of a build, and retries while the database is away: the build counts as running until then. */
async function untilDone(
  context: Uses<'log' | 'signal'>,
  job: BuildJob,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseAway(error) || context.signal.aborted) throw error;
      context.log.warn({ err: error, buildId: job.build.id }, 'the end of a build is written later');
      await sleep(RETRY_MS, undefined, { signal: context.signal }).catch(() => {});
    }
  }
}

function withCommands(state: BuildState, { request }: BuildJob): BuildState {
  const given = (text: string | undefined) => (text === undefined || text.trim() === '' ? undefined : text);
  return {
    ...state,
    startCommand: given(request.startCmd) ?? state.startCommand,
    readyCommand:
      given(request.readyCmd) ?? (given(request.startCmd) === undefined ? state.readyCommand : null),
  };
}

/** Returns the time since the request for the build, s. */
function secondsOf({ build }: BuildJob, now: number): number {
  return Math.max(0, (now - build.created_at) / 1000);
}

function messageOfCancel(reason: unknown): string {
  const message = reason instanceof Error ? reason.message : 'cancelled';
  return message === 'the server stops' ? 'interrupted: start the build again' : message;
}

function explain(context: Uses<'log'>, job: BuildJob, error: unknown): string {
  if (error instanceof BuildError) return error.message;
  context.log.warn(
    { err: error, buildId: job.build.id, detail: (error as { detail?: unknown }).detail },
    'a build failed',
  );
  return DriverError.is(error) ? error.message : 'internal error of the builder';
}

async function markReady(
  context: Uses<'config' | 'db' | 'driver' | 'log' | 'metrics' | 'now'>,
  job: BuildJob,
  { state, checkpoint }: FinishedBuild,
): Promise<void> {
  const now = context.now();
  const result = await context.db
    .updateTable('template_builds')
    .set((build) => ({
      status: 'ready',
      version: build('version', '+', 1),
      envd_version: context.config.envdVersion,
      layers: toJson(state.layers),
      checkpoint_id: checkpoint?.id ?? null,
      checkpoint_memory: checkpoint === undefined ? 0 : 1,
      source_sandbox_id: checkpoint?.instanceId ?? null,
      env_vars: toJson(state.env),
      encrypted_env_vars: state.encryptedEnv,
      default_user: state.user,
      default_workdir: state.workdir,
      start_command: state.startCommand,
      ready_command: state.readyCommand,
      updated_at: now,
      finished_at: now,
    }))
    .where('id', '=', job.build.id)
    .where('status', '=', 'building')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) {
    context.metrics?.build('ready', secondsOf(job, now));
    await context.db
      .updateTable('templates')
      .set({ updated_at: now })
      .where('id', '=', job.build.template_id)
      .execute();
    return;
  }
  // Superseded or deleted at the last moment.
  if (checkpoint !== undefined) await dropCheckpoint(context, checkpoint.id);
}

/** Layers that were made stay known, so that the next try finds them. */
async function markFailed(
  context: Uses<'db' | 'metrics' | 'now'>,
  job: BuildJob,
  reason: BuildReason,
  layers: string[],
): Promise<void> {
  const now = context.now();
  context.metrics?.build('failed', secondsOf(job, now));
  await context.db
    .updateTable('template_builds')
    .set((build) => ({
      status: 'error',
      version: build('version', '+', 1),
      reason: toJson(reason),
      layers: toJson(layers),
      updated_at: now,
      finished_at: now,
    }))
    .where('id', '=', job.build.id)
    .where('status', '=', 'building')
    .execute();
}
