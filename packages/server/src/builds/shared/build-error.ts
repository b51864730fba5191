/** Why a build fails, in words for whoever started it. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
}
