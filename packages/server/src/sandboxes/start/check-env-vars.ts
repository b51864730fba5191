import { errors } from '../../api/errors/catalog.js';

/**
 * Refuses variables that no program could be given: every command of the sandbox would fail, or not see them.
 * @throws {ApiError} 400 naming the variable, never its value
 */
export function checkEnvVars(variables: Record<string, string>): void {
  for (const name of Object.keys(variables))
    if (name === '' || name.includes('='))
      throw errors.badRequest(
        `envVars: ${JSON.stringify(name.slice(0, 100))} cannot be the name of a variable`,
      );
}
