import { errors } from '../errors/catalog.js';

/**
 * Refuses variables that no program could be given: every command of the sandbox would fail, or not see them.
 * @throws {ApiError} 400 naming the variable, never its value
 */
export function checkEnvVars(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (name === '' || /[=\0]/.test(name))
      throw errors.badRequest(
        `envVars: ${JSON.stringify(name.slice(0, 100))} cannot be the name of a variable`,
      );
    if (value.includes('\0'))
      throw errors.badRequest(
        `envVars: the value of ${JSON.stringify(name.slice(0, 100))} has a NUL character`,
      );
  }
}
