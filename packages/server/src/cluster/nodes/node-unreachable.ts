const brand = Symbol.for('svc.server.NodeUnreachableError');

/** Another node did not answer a request. */
export class NodeUnreachableError extends Error {
  override readonly name = 'NodeUnreachableError';
  readonly [brand] = true;
  /** True when it was reached, but its certificate not accepted. */
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

/** Error codes of OpenSSL and Node for a certificate that they do not accept. */
const REFUSED =
  /^(CERT_|ERR_TLS_CERT_ALTNAME_INVALID$|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)|INVALID_(CA|PURPOSE)$|HOSTNAME_MISMATCH$)/;

/** Returns why the certificate of another node was not accepted; undefined for any other failure. Nothing was sent to it then. */
export function certificateRefusal(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return typeof code === 'string' && REFUSED.test(code) ? `${String(message)} (${code})` : undefined;
}

/** For the operator's log. */
export function refusalText(nodeId: string, reason: string): string {
  return `the certificate of node ${nodeId} is not accepted: ${reason}. It must be signed by an authority that this server knows (NODE_EXTRA_CA_CERTS names one of your own) and be for the host in SVC_NODE_API_URL and SVC_NODE_SANDBOX_URL of that node`;
}
