import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DaemonProgram } from '../src/index.js';

/** Where the copy is: the tests run in other processes than the setup. */
const VARIABLE = 'SVC_TEST_DAEMON_DIRECTORY';
const built = fileURLToPath(new URL('../../envd/dist', import.meta.url));
const directory = process.env[VARIABLE] ?? built;

/** The bundled daemon of this workspace, in a copy that no build touches while the tests run. */
export const envdBundle: DaemonProgram = { entry: join(directory, 'envd.cjs'), directory };

/** Builds the daemon when it was never built, and copies it. */
export default async function setup(): Promise<() => Promise<void>> {
  if (!existsSync(join(built, 'envd.cjs'))) {
    const workspace = fileURLToPath(new URL('../../..', import.meta.url));
    await promisify(execFile)('npm', ['run', 'build', '-w', 'packages/envd'], { cwd: workspace });
  }
  const copy = await mkdtemp(join(tmpdir(), 'daemon-'));
  await cp(built, copy, { recursive: true });
  process.env[VARIABLE] = copy;
  return () => rm(copy, { recursive: true, force: true });
}
