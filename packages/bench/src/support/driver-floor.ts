import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import type { Driver, Instance, InstanceSpec, Isolation } from '@svc/runtime/contract';
import { selectDriver } from '@svc/runtime/host';
import type { BenchContext } from '../row.js';
import { summarize } from '../statistics.js';
import { timed } from './time.js';

export const SPEC: InstanceSpec = {
  layers: [],
  limits: { cpuCount: 2, memoryMiB: 1024, diskMiB: 10_240 },
  network: { egress: 'internet' },
  mounts: [],
  labels: { bench: 'floor' },
};

/** A driver without a server around it. */
export async function withDriver<T>(
  context: BenchContext,
  use: (driver: Driver) => Promise<T>,
  isolation: Isolation = 'container',
): Promise<T> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-bench-driver-'));
  const { driver } = await selectDriver({
    preferred: context.driver,
    dataDir,
    daemon: daemonProgram,
    ...(context.driver === 'linux' ? { linux: { isolation } } : {}),
  });
  try {
    return await use(driver);
  } finally {
    await driver.close({ destroyInstances: true });
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** One `GET /health` over a connection of its own. */
export async function ask(instance: Instance): Promise<void> {
  const socket = await instance.dial(49_983);
  await new Promise<void>((resolve, reject) => {
    const call = request(
      // Without an agent: with one, the socket that was dialed would not be used.
      { path: '/health', createConnection: () => socket as never },
      (response) => {
        response.resume();
        response.on('end', resolve);
      },
    );
    call.on('error', reject);
    call.end();
  });
  socket.destroy();
}

/** p50 of making an instance and getting an answer from its daemon, from the pool and cold. */
export async function driverFloor(
  context: BenchContext,
  count: number,
): Promise<{ pooled: number; cold: number } | undefined> {
  let serial = 0;
  const series = (driver: Driver, pooled: boolean) => async () => {
    const values: number[] = [];
    for (let round = 0; round < count; round++) {
      if (pooled) await driver.poolReady();
      const { ms, value: instance } = await timed(async () => {
        const made = await driver.create({ id: `bench${Date.now() % 1e9}x${serial++}`, spec: SPEC });
        await ask(made);
        return made;
      });
      values.push(ms);
      await instance.destroy();
    }
    return summarize(values).p50;
  };
  return withDriver(context, async (driver) => {
    const cold = await series(driver, false)();
    driver.setPool([{ spec: SPEC, size: 2 }]);
    const pooled = await series(driver, true)();
    return { pooled, cold };
  });
}
