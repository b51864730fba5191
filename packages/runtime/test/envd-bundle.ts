import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DaemonProgram } from '../src/index.js';

const directory = fileURLToPath(new URL('../../envd/dist', import.meta.url));

/** The bundled daemon of this workspace. */
export const envdBundle: DaemonProgram = { entry: `${directory}/envd.cjs`, directory };

/** Builds the daemon when it was never built. */
export default async function setup(): Promise<void> {
  if (existsSync(envdBundle.entry)) return;
  const workspace = fileURLToPath(new URL('../../..', import.meta.url));
  await promisify(execFile)('npm', ['run', 'build', '-w', 'packages/envd'], { cwd: workspace });
}
