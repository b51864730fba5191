/** The other side broke the protocol: the connection ends with this text as the reason. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
