import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs `with-server.mjs`.
 * @param node the command line of Node
 */
export function runExample(
  [command, ...before]: readonly string[],
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command!, [...before, 'with-server.mjs', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const add = (data: Buffer) => {
    output += data.toString();
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}
