/** Why a build failed, written for the user who started it. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
}
