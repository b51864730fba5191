import { errors } from '../../api/errors/catalog.js';
import type { RowPorts, Uses } from '../context.js';
import { isBetweenStates, type LiveSandbox, stateOf, type Transition } from '../state/live.js';
import { type Action, conflictText, decide } from '../state/state.js';
import { holdSandbox } from './rows.js';

/** Most times that a caller waits for what is under way before giving up with 409. */
const ROUNDS = 3;

export type Admission =
  | { kind: 'proceed' | 'extend'; live: LiveSandbox }
  | { kind: 'join'; live: LiveSandbox; result: Promise<unknown> };

/**
 * Decides whether an action may start, waiting for what is under way where the table says so.
 * With `proceed`, the caller must call {@link begin} before it awaits anything.
 * @throws {ApiError} 404, 409
 */
export async function admit(
  context: RowPorts,
  teamId: string,
  sandboxId: string,
  action: Action,
): Promise<Admission> {
  for (let round = 0; ; round += 1) {
    const live = await holdSandbox(context, teamId, sandboxId);
    if (live.transition === undefined && (live.stale || isBetweenStates(live.row.state))) {
      await context.repairs.now(live);
      if (round < ROUNDS) continue;
    }
    if (live.transition?.moving === true && round < ROUNDS) {
      await live.transition.result.catch(() => {});
      continue;
    }
    const state = stateOf(live);
    const decision = decide(state, action);
    switch (decision) {
      case 'proceed':
      case 'extend':
        return { kind: decision, live };
      case 'join':
        if (live.transition !== undefined) return { kind: 'join', live, result: live.transition.result };
        break;
      case 'wait':
        if (round < ROUNDS && live.transition !== undefined) {
          await live.transition.result.catch(() => {});
          continue;
        }
        break;
      case 'not-found':
        throw errors.sandboxNotFound(sandboxId);
      case 'conflict':
        break;
    }
    throw errors.sandboxConflict(sandboxId, conflictText(state));
  }
}

/**
 * Starts a transition. Until it ends, the sandbox is in the state that `kind` names. One that breaks off half-way is
 * finished or undone later.
 * @param options `moving`: it only changes its place
 */
export function begin<T>(
  context: Uses<'repairs'>,
  live: LiveSandbox,
  kind: Transition['kind'],
  work: () => Promise<T>,
  options: { moving?: true } = {},
): Promise<T> {
  const result = Promise.resolve()
    .then(work)
    .finally(() => {
      live.transition = undefined;
      if (!live.deleted && (live.stale || isBetweenStates(live.row.state))) context.repairs.later(live);
    });
  // Callers that join see the failure; without any it must not end the process.
  result.catch(() => {});
  live.transition = { kind, result, ...options };
  return result;
}
