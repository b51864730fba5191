import { setImmediate as breathe } from 'node:timers/promises';
import { decryptJson } from '../../storage/keys/encrypted-setting.js';
import type { BuildState } from './shared/build.js';
import { BuildError, buildSpec } from './shared/build.js';
import type { BuildTools } from './shared/build-tools.js';
import { stepKey } from './shared/layer-cache.js';
import { BuildMachine } from './shared/machine.js';
import { readStep } from './steps/read-step.js';
import type { Step, StepResult } from './steps/step.js';

/** Most steps of a build: real ones have a hundred. */
const MAX_STEPS = 1_000;

/** Runs the instructions in order, each in an instance of its own, and keeps what each changed as a layer. */
export async function runSteps(tools: BuildTools, base: BuildState): Promise<BuildState> {
  const { job, log, context } = tools;
  const limits = { rootfs: context.driver.capabilities.layers === 'rootfs' };
  const wires = job.request.steps ?? [];
  if (wires.length > MAX_STEPS)
    throw new BuildError(
      `the build has ${wires.length} steps, and ${MAX_STEPS} is the most: join some of them`,
    );
  // All are checked before the first one runs: a mistake in the last one is found at once.
  const steps = wires.map((wire, index) => {
    log.step = String(index + 1);
    return { wire, step: readStep(wire, limits) };
  });
  let state = base;
  for (const [index, { wire, step }] of steps.entries()) {
    tools.signal.throwIfAborted();
    log.step = String(index + 1);
    log.add('info', `[${index + 1}/${steps.length}] ${step.title}`);
    state = { ...state, key: stepKey(state.key, wire), reuse: state.reuse && wire.force !== true };
    if (step.work !== undefined) state = await withLayer(tools, state, step, step.work);
    state = { ...state, ...step.after?.(state) };
    tools.onLayers(state.layers);
    await log.flush();
    // Other work of the server has its turn: a step that only sets variables waits for nothing.
    await breathe();
  }
  return state;
}

async function withLayer(
  tools: BuildTools,
  state: BuildState,
  step: Step,
  work: NonNullable<Step['work']>,
): Promise<BuildState> {
  const { cache, log } = tools;
  const known = state.reuse ? await cache.find(state.key) : undefined;
  if (known !== undefined) {
    log.add('info', 'taken from the cache');
    return { ...state, layers: known === null ? state.layers : [...state.layers, known] };
  }
  const layer = await makeLayer(tools, state, (machine) =>
    work.call(step, state, {
      context: tools.context,
      templateId: tools.job.build.template_id,
      machine,
      log,
      signal: tools.signal,
    }),
  );
  await cache.put(state.key, layer);
  // Later cached layers were made on top of another layer, so they cannot be used.
  return { ...state, reuse: false, layers: layer === null ? state.layers : [...state.layers, layer.id] };
}

/** Runs a step in a fresh instance and stores the files that it wrote. Null: it wrote none. */
export async function makeLayer(
  tools: BuildTools,
  state: BuildState,
  work: (machine: BuildMachine) => Promise<StepResult>,
): Promise<{ id: string; sizeBytes: number } | null> {
  const { context, job, signal } = tools;
  await using machine = await BuildMachine.boot(
    context,
    buildSpec(context, job.build, state.layers),
    { teamId: job.build.team_id, env: { ...decryptEnv(tools, state), ...state.env } },
    signal,
  );
  const result = await work(machine);
  return result === 'unchanged' ? null : await machine.instance.commitLayer();
}

/** Variables that came encrypted from a snapshot. */
export function decryptEnv(tools: Pick<BuildTools, 'context'>, state: BuildState): Record<string, string> {
  if (state.encryptedEnv === null) return {};
  try {
    return decryptJson(tools.context.keys, 'build', state.encryptedEnv);
  } catch {
    throw new BuildError('the variables of the snapshot cannot be read with the key of this server');
  }
}
