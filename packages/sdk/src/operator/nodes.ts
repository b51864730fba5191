import type { RequestOptions } from '../core/call-context.js';
import type { ForgottenNode, OperatedNode } from './node.js';
import type { OperatorCaller } from './operator-caller.js';
import { fromNode } from './wire.js';

const resource = 'node' as const;

/** The servers that share a database. */
export class Nodes {
  readonly #caller: OperatorCaller;

  /** @internal */
  constructor(caller: OperatorCaller) {
    this.#caller = caller;
  }

  /**
   * Lists all nodes, by id. A server with a database of its own is the only one.
   * @example
   * for (const node of await operator.nodes.list()) console.log(node.nodeId, node.state);
   * @wire listNodes
   */
  async list(options: RequestOptions = {}): Promise<OperatedNode[]> {
    const data = await this.#caller.call({ operation: 'nodes.list', resource, options }, (operator, fetch) =>
      operator.GET('/nodes', { fetch }),
    );
    return data.map(fromNode);
  }

  /**
   * Sends new sandboxes to other nodes, within 2 s. Repeating it is fine.
   * @param options `sandboxes`: `keep` (default) lets running sandboxes continue, `pause` pauses it, with its memory where that can be stored, `move`
   * has the node empty itself: what can leave it continues on other nodes, see `moving` of the node
   * @throws NotFoundError, ConflictError where there is no other node
   * @example
   * await operator.nodes.drain(nodeId, { sandboxes: 'pause' });
   * @wire drainNode
   */
  async drain(
    nodeId: string,
    options: RequestOptions & { sandboxes?: 'keep' | 'pause' | 'move' | undefined } = {},
  ): Promise<OperatedNode> {
    const body = { sandboxes: options.sandboxes ?? 'keep' };
    const data = await this.#caller.call(
      { operation: 'nodes.drain', resource, idempotent: true, options },
      (operator, fetch) =>
        operator.POST('/nodes/{nodeID}/drain', { params: { path: { nodeID: nodeId } }, body, fetch }),
    );
    return fromNode(data);
  }

  /**
   * Takes a drained node into use again. What was paused stays paused, and what has moved stays where it went.
   * @throws NotFoundError, ConflictError where there is no other node
   * @example
   * await operator.nodes.undrain(nodeId);
   * @wire undrainNode
   */
  async undrain(nodeId: string, options: RequestOptions = {}): Promise<OperatedNode> {
    const data = await this.#caller.call(
      { operation: 'nodes.undrain', resource, idempotent: true, options },
      (operator, fetch) =>
        operator.POST('/nodes/{nodeID}/undrain', { params: { path: { nodeID: nodeId } }, fetch }),
    );
    return fromNode(data);
  }

  /**
   * Removes the record of a node that has stopped and has nothing. False when there was none.
   * @throws ConflictError while it lives, or has sandboxes, snapshots or templates that no other node has
   * @example
   * await operator.nodes.remove(nodeId);
   * @wire removeNode
   */
  remove(nodeId: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#caller.delete({ operation: 'nodes.remove', resource, options }, (operator, fetch) =>
      operator.DELETE('/nodes/{nodeID}', { params: { path: { nodeID: nodeId } }, fetch }),
    );
  }

  /**
   * Gives up a node that is lost: its sandboxes and volumes end, and what only it had of templates and snapshots fails from then on.
   * @throws NotFoundError, ConflictError while it lives
   * @example
   * const { sandboxes } = await operator.nodes.forget(nodeId);
   * @wire forgetNode
   */
  forget(nodeId: string, options: RequestOptions = {}): Promise<ForgottenNode> {
    return this.#caller.call({ operation: 'nodes.forget', resource, options }, (operator, fetch) =>
      operator.POST('/nodes/{nodeID}/forget', { params: { path: { nodeID: nodeId } }, fetch }),
    );
  }
}
