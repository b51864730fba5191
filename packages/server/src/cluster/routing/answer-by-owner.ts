import { ApiError } from '../../api/errors/api-error.js';
import type { PassedOn, RequestRouting } from '../../api/routing.js';
import { parseSandboxId } from '../../api/wire/ids.js';
import type { NodeForwarder } from '../nodes/forwarder.js';
import { homeOfSandbox } from '../nodes/ownership.js';
import { askOwner, type OwnedRequest, type OwnerPorts, passOnOf } from './owner.js';

/** How often a sandbox may move while a request waits for it. */
const MOST_MOVES = 3;
/** With which a node answers that has a sandbox no more: nothing was done. */
const HAS_IT_NO_MORE: ReadonlySet<number> = new Set([404, 503]);

/**
 * Has a request that acts on a sandbox answered by the node that has it, and by another one once more when the sandbox has moved there
 * while it waited. What another node passed on, that one asks again by itself.
 * @param here answers it on this node
 */
export async function answerByOwner<R extends { status: number }>(
  ports: OwnerPorts,
  owned: OwnedRequest,
  here: () => R | Promise<R>,
): Promise<R | PassedOn> {
  const { forwarder, request, route } = owned;
  for (let move = 0; ; move += 1) {
    let asked = ports.nodes.nodeId;
    const answer = async (): Promise<R | PassedOn> => {
      const theirs = await askOwner(ports, owned, (nodeId) => {
        asked = nodeId;
      });
      return theirs === undefined ? here() : { ...theirs, passedOn: true };
    };
    const hasMoved = async (status: number) => {
      if (!ports.nodes.shared || route.actsOn !== 'sandbox' || !HAS_IT_NO_MORE.has(status)) return false;
      if (move >= MOST_MOVES || forwarder.comesFromNode(request.raw)) return false;
      const sandboxId = parseSandboxId((request.params as { sandboxID: string }).sandboxID);
      const home = await homeOfSandbox(ports, sandboxId);
      return home !== null && home !== asked;
    };
    try {
      const result = await answer();
      if (!('passedOn' in result) || !(await hasMoved(result.status))) return result;
    } catch (error) {
      if (!ApiError.is(error) || !(await hasMoved(error.status))) throw error;
    }
  }
}

export function requestRouting(ports: OwnerPorts, forwarder: NodeForwarder): RequestRouting {
  return {
    comesFromNode: (request) => forwarder.comesFromNode(request),
    answer: (request, here) => answerByOwner(ports, { ...request, forwarder }, here),
    passOnOf: (request, signal) => passOnOf(ports, forwarder, request, signal),
  };
}
