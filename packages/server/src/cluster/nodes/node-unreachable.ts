import { certificateRefusal, refusalText } from './certificate-refusal.js';

const brand = Symbol.for('svc.server.NodeUnreachableError');

/** Another node did not answer a request. */
export class NodeUnreachableError extends Error {
  override readonly name = 'NodeUnreachableError';
  readonly [brand] = true;
  /** Whether it was reached, but its certificate not accepted. */
  readonly refused: boolean;

  /** @param taken whether it may have begun to carry the request out. */
  constructor(
    nodeId: string,
    readonly taken: boolean,
    cause?: unknown,
  ) {
    const refusal = certificateRefusal(cause);
    super(refusal === undefined ? `node ${nodeId} does not answer` : refusalText(nodeId, refusal), { cause });
    this.refused = refusal !== undefined;
  }

  static is(value: unknown): value is NodeUnreachableError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
