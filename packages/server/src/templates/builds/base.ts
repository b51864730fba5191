import { clusterOf } from '../../cluster/nodes/cluster-of.js';
import { bringBuild } from '../../sandboxes/start/bring-build.js';
import { fromJson } from '../../storage/json.js';
import { baseFromImage } from './images/base-from-image.js';
import type { BuildJob } from './shared/build.js';
import { BuildError, type BuildState, buildSpec, DEFAULT_USER } from './shared/build.js';
import type { BuildTools } from './shared/build-tools.js';
import { BuildMachine } from './shared/machine.js';

/** The first phase: what the build starts from. @throws {BuildError} */
export async function prepareBase(tools: BuildTools): Promise<BuildState> {
  const { job } = tools;
  const reuse = job.request.force !== true;
  if (job.parent !== undefined) return baseFromTemplate(tools, job.parent, reuse);
  const { layers, key, env } = await baseFromImage(tools, reuse);
  return {
    layers,
    key,
    reuse,
    env,
    encryptedEnv: null,
    args: {},
    user: DEFAULT_USER,
    workdir: null,
    startCommand: null,
    readyCommand: null,
  };
}

async function baseFromTemplate(
  tools: BuildTools,
  parent: NonNullable<BuildJob['parent']>,
  reuse: boolean,
): Promise<BuildState> {
  const { context, log } = tools;
  log.add('info', `starting from template ${tools.job.request.fromTemplate}`);
  if (context.copies.possible)
    await bringBuild(context, { build: parent }).catch((error: Error) => {
      throw new BuildError(`what the template to start from consists of is not here: ${error.message}`);
    });
  else if (!(await isWithinReach(context, parent.node_id)))
    throw new BuildError('the template to start from was built by another server, whose files are not here');
  const key = `template:${parent.id}`;
  // A snapshot is a stored state; what it adds to its layers has to become one first.
  const snapshot = parent.definition === null && parent.checkpoint_id !== null;
  const layers = fromJson(parent.layers);
  if (snapshot) layers.push(await layerOfSnapshot(tools, parent, key));
  return {
    layers,
    key,
    reuse,
    env: fromJson(parent.env_vars),
    encryptedEnv: parent.encrypted_env_vars,
    args: {},
    user: parent.default_user ?? DEFAULT_USER,
    workdir: parent.default_workdir,
    startCommand: parent.start_command,
    readyCommand: parent.ready_command,
  };
}

/** Returns whether this node can start from what a node made. @param nodeId null: any node could */
async function isWithinReach(
  { config, db, driver }: BuildTools['context'],
  nodeId: string | null,
): Promise<boolean> {
  if (nodeId === null || nodeId === config.nodeId) return true;
  return driver.shared !== undefined && (await clusterOf({ db }, nodeId)) === driver.shared.clusterId;
}

async function layerOfSnapshot(
  { context, job, cache, signal }: BuildTools,
  parent: NonNullable<BuildJob['parent']>,
  key: string,
): Promise<string> {
  const known = await cache.find(key);
  if (known !== undefined && known !== null) return known;
  const spec = buildSpec(context, job.build, []);
  await using machine = await BuildMachine.boot(context, spec, { teamId: job.build.team_id }, signal, (id) =>
    context.driver.restore({ id, spec, checkpointId: parent.checkpoint_id!, memory: false, signal }),
  );
  const layer = await machine.instance.commitLayer();
  await cache.put(key, layer);
  return layer.id;
}
