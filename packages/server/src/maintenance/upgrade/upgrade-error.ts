/** A server that cannot be upgraded, or be brought back: a sentence for the operator. */
export class UpgradeError extends Error {
  override readonly name = 'UpgradeError';
}
