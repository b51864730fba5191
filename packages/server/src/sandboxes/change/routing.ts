import { ApiError } from '../../api/errors/api-error.js';
import type { ResumeOutcome, Route } from '../../gateway/contract.js';
import type { StartPorts, Uses } from '../context.js';
import { findLive, forget, release } from '../records/rows.js';
import { isFull } from '../start/placement-error.js';
import { configOf } from '../state/config.js';
import { type LiveSandbox, type SandboxRow, stateOf } from '../state/live.js';
import { accessToken, daemonToken, trafficToken } from '../state/sandbox-tokens.js';
import { daemonMetrics } from '../telemetry/daemon-metrics.js';
import { resumeLive } from './resume.js';

/** Finds the route of requests into a sandbox. Sandboxes that run here are found without the database. */
export function findRoute(
  context: Uses<'config' | 'db' | 'keys' | 'now' | 'sandboxes'>,
  sandboxId: string,
): Route | undefined | Promise<Route | undefined> {
  const live = context.sandboxes.get(sandboxId);
  if (live !== undefined) return routeOf(context, live);
  return findLive(context, sandboxId).then((found) => {
    if (found === undefined) return undefined;
    const route = routeOf(context, found);
    release(context, found);
    return route;
  });
}

function routeOf(context: Uses<'keys' | 'now'>, live: LiveSandbox): Route | undefined {
  const state = stateOf(live);
  if (live.deleted || state === 'killing' || state === 'creating') return undefined;
  const { row, instance } = live;
  const config = configOf(row);
  const network = config.network ?? {};
  return {
    sandboxId: row.id,
    // A snapshot stops the sandbox for a moment only; requests in flight and new ones just take a little longer.
    state: state === 'running' ? 'running' : state === 'paused' ? 'paused' : 'transition',
    instanceKey: `${row.execution_id}:${live.run}`,
    dial: (port, signal) => {
      if (instance === undefined) return Promise.reject(new Error('the sandbox does not run'));
      return instance.dial(port, { signal });
    },
    ...(instance === undefined ? {} : { metrics: () => daemonMetrics(instance, row, context.now) }),
    daemon: { clientToken: accessToken(context.keys, row.id), ownToken: daemonToken(context.keys, row) },
    allowPublicTraffic: network.allowPublicTraffic !== false,
    trafficToken: () => trafficToken(context.keys, row.id),
    ...(network.maskRequestHost === undefined ? {} : { maskRequestHost: network.maskRequestHost }),
    httpsPorts: network.httpsPorts ?? [],
    autoResume: { enabled: config.autoResume && row.paused_memory === 1 },
  };
}

/**
 * Wakes a paused sandbox for a request. Its time to live is that of the create request, at least the configured least.
 * @param move has another node take it over, which is tried where this one is drained or has no place for it: whether one has it now
 */
export async function resumeForRequest(
  context: StartPorts & Uses<'teams'>,
  sandboxId: string,
  move: (row: SandboxRow) => Promise<boolean>,
): Promise<ResumeOutcome> {
  const live = await findLive(context, sandboxId);
  if (live === undefined || live.deleted) return { kind: 'deleted' };
  const state = stateOf(live);
  if (state === 'running') return { kind: 'running', route: routeOf(context, live)! };
  if (state === 'killing') return { kind: 'deleted' };
  if (state !== 'paused') return { kind: 'transition' };
  const team = await context.teams.get(live.row.team_id);
  if (team === undefined) return { kind: 'deleted' };
  if (team.banned || team.blocked) return { kind: 'refused', message: 'The team is blocked' };
  const moveAway = async () => {
    if (!(await move(live.row))) return false;
    forget(context, live);
    return true;
  };
  if (context.nodes.drain !== 'no' && (await moveAway())) return { kind: 'moved' };
  // A reader may have released it meanwhile: without this entry no request would see that it wakes.
  const held = context.sandboxes.get(sandboxId) === live;
  if (!held || stateOf(live) !== 'paused') return { kind: 'transition' };
  const timeoutSeconds = Math.min(
    Math.max(live.row.timeout_seconds, context.config.minAutoResumeSeconds),
    team.limits.maxTimeToLiveSeconds,
  );
  try {
    await resumeLive(context, live, { team, timeoutSeconds, forTraffic: true });
  } catch (error) {
    if (ApiError.is(error) && isFull(error) && (await moveAway())) return { kind: 'moved' };
    if (ApiError.is(error) && error.status === 429) return { kind: 'limited', message: error.message };
    if (ApiError.is(error) && error.status === 404) return { kind: 'deleted' };
    // A failure that lasts is reported to the client: waiting does not help.
    if (ApiError.is(error) && error.status === 400) return { kind: 'refused', message: error.message };
    context.log.error({ err: error, sandboxId }, 'a sandbox could not be resumed for a request');
    throw error;
  }
  return { kind: 'running', route: routeOf(context, live)! };
}

/** Settles when the sandbox is in no transition, or the signal aborts. */
export async function settled(
  context: Uses<'sandboxes'>,
  sandboxId: string,
  signal: AbortSignal,
): Promise<void> {
  const transition = context.sandboxes.get(sandboxId)?.transition;
  if (transition === undefined || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      signal.removeEventListener('abort', done);
      resolve();
    };
    signal.addEventListener('abort', done, { once: true });
    transition.result.then(done, done);
  });
}
