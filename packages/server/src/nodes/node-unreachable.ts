const brand = Symbol.for('svc.server.NodeUnreachableError');

/** Another node did not answer a request. */
export class NodeUnreachableError extends Error {
  override readonly name = 'NodeUnreachableError';
  readonly [brand] = true;

  /** @param taken whether it may have begun to carry the request out. */
  constructor(
    nodeId: string,
    readonly taken: boolean,
    cause?: unknown,
  ) {
    super(`node ${nodeId} does not answer`, { cause });
  }

  static is(value: unknown): value is NodeUnreachableError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
