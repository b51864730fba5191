import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { daemonProgram } from '../../../envd/location.js';
import type { DaemonProgram } from '../../src/contract.js';

/** Where the copy is: the tests run in other processes than the setup. */
const VARIABLE = 'SVC_TEST_DAEMON';

/** The daemon of this workspace, in a copy that no build touches while the tests run. */
export const envdProgram: DaemonProgram = { entry: process.env[VARIABLE] ?? daemonProgram.entry };

/** Builds the daemon when it was never built, and copies it. */
export default async function setup(): Promise<() => Promise<void>> {
  if (!existsSync(daemonProgram.entry)) {
    const workspace = fileURLToPath(new URL('../../../..', import.meta.url));
    await promisify(execFile)('npm', ['run', 'build', '-w', 'packages/envd'], { cwd: workspace });
  }
  const directory = await mkdtemp(join(tmpdir(), 'daemon-'));
  const copy = join(directory, 'envd');
  await copyFile(daemonProgram.entry, copy);
  process.env[VARIABLE] = copy;
  return () => rm(directory, { recursive: true, force: true });
}
