// Runs a tool of node_modules/.bin quietly; its output appears only when it fails.
import { execFileSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(repository, 'node_modules/.bin');

/** @throws Error with everything the tool printed, when it fails. */
export function runTool(name, args, { cwd = repository, env = process.env } = {}) {
  try {
    return execFileSync(join(bin, name), args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...env,
        PATH: `${bin}${delimiter}${env.PATH}`,
        NO_COLOR: '1',
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      },
    });
  } catch (error) {
    throw new Error(
      `${name} ${args.join(' ')} failed:\n${error.stdout ?? ''}${error.stderr ?? error.message}`,
    );
  }
}
