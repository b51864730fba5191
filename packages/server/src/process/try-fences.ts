import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import { checkIncusFences, type Finding } from '@svc/runtime';
import type { ServerOptions } from '../config/options.js';

/**
 * Tries on every member of the cluster whether sandboxes are kept from the network, in a data directory of its own that goes
 * again. Starts two sandboxes on each, and ends them.
 */
export async function tryFences({ incus }: Pick<ServerOptions, 'incus'>): Promise<Finding[]> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-trial-'));
  try {
    return await checkIncusFences({ ...incus, dataDir, daemon: daemonProgram });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
