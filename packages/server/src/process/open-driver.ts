import path from 'node:path';
import { type Driver, selectDriver } from '@svc/runtime';
import type { Log } from '../api/context/context.js';
import { driverPrograms } from '../config/driver-programs.js';
import { linuxOptions } from '../config/linux-options.js';
import type { ServerOptions } from '../config/options.js';
import { adoptEarlierVolumes } from '../storage/data/earlier-volumes.js';

export interface OpenedDriver {
  driver: Driver;
  why: string;
  /** False: the caller of `startServer` closes it. */
  owned: boolean;
}

/** Opens the driver that was asked for; by default the one that isolates. Never falls back to less. */
export async function openDriver(options: ServerOptions, log: Log, now: () => number): Promise<OpenedDriver> {
  const desired = options.driver;
  if (typeof desired === 'object') return { driver: desired, why: 'It was given.', owned: false };
  const dataDir = path.join(options.dataDir, 'driver');
  await adoptEarlierVolumes(options.dataDir, dataDir);
  const { driver, why } = await selectDriver({
    dataDir,
    ...driverPrograms(),
    now,
    preferred: desired,
    log: (level, message, fields) => log[level]({ ...fields }, message),
    linux: linuxOptions(options),
    incus: options.incus ?? {},
    trialStart: options.trialStart === true,
  });
  return { driver, why, owned: true };
}
