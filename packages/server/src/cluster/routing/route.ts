import type { NodeRecord } from '../../api/context/nodes.js';
import { errors } from '../../api/errors/catalog.js';
import type { AnyResult } from '../../api/operations.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';

/** The place where a request is carried out: this node or another one. `done`: the route did it. */
export type Destination =
  | { kind: 'here' }
  | { kind: 'node'; node: NodeRecord }
  | { kind: 'done'; answer: AnyResult };

export const HERE: Destination = { kind: 'here' };

export const toNode = (node: NodeRecord): Destination => ({ kind: 'node', node });

export interface Failure {
  error: unknown;
  /** The destination that failed; undefined: there was none to go to. */
  at?: Destination;
}

/**
 * The destinations of one request, one after the other. A route learns how each of them failed, or that it answered
 * (undefined). It ends with the failure that the client gets, or undefined when a destination answered.
 */
export type Route = AsyncGenerator<Destination, Failure | undefined, Failure | undefined>;

/** Leads to one node alone. @returns 503 when it does not answer */
export async function* onNode(node: NodeRecord): Route {
  const failure = yield toNode(node);
  return NodeUnreachableError.is(failure?.error)
    ? { ...failure, error: errors.nodeUnreachable(failure.error) }
    : failure;
}

/** Tries the destinations of a route until one answers. @throws the failure that the route ends with */
export async function follow<Answer>(
  route: Route,
  attempt: (destination: Destination) => Promise<Answer>,
): Promise<Answer> {
  let step = await route.next();
  while (step.done !== true) {
    const at = step.value;
    let answer: Answer;
    try {
      answer = await attempt(at);
    } catch (error) {
      step = await route.next({ error, at });
      continue;
    }
    await route.next(undefined);
    return answer;
  }
  throw step.value?.error ?? new Error('a route ended without an answer');
}
