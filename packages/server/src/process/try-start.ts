import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import type { Isolation } from '@svc/runtime/contract';
import { type Finding, selectDriver, type TrialStart } from '@svc/runtime/host';
import { checkIncusFences } from '@svc/runtime/incus';
import type { ServerOptions } from '../config/options.js';

export interface TryStartOptions {
  isolation: Isolation;
  ociRuntime?: string | undefined;
}

/**
 * Starts one sandbox on this host, in a data directory of its own that goes again, stores and restores its memory, and ends it.
 * @returns what it showed. Undefined: there was no room to try.
 * @throws {DriverError} `unsupported` with the reason.
 */
export async function tryStart({ isolation, ociRuntime }: TryStartOptions): Promise<TrialStart | undefined> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-trial-'));
  try {
    const { driver, trial } = await selectDriver({
      dataDir,
      daemon: daemonProgram,
      preferred: 'linux',
      trialStart: true,
      // Plain directories: making a store would take longer than everything else.
      linux: { isolation, storeSizeMiB: 0, ...(ociRuntime === undefined ? {} : { ociRuntime }) },
    });
    await driver.close({ destroyInstances: true });
    return trial;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

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
